/**
 * Executors over a real store in memory: runs are claimed, leased by the work loop and done by the
 * handlers of a test. Time is the machine's own, with short leases, unless a test has its own
 * clock.
 */
import type { Clock } from '../../src/clock.ts'
import { openStore, systemMachine } from '../../src/open-store.ts'
import { createEmbeddedEngine } from '../../src/engines/embedded.ts'
import type { Executor } from '../../src/executor.ts'
import { handlerExecutor } from '../../src/executors/handler/handler-executor.ts'
import type { RunHandler } from '../../src/run-handler.ts'
import { createRuns, type RunsService } from '../../src/runs/create-runs.ts'
import { createSweeper } from '../../src/runs/sweeper.ts'
import type { Claimed } from '../../src/runs/runs.ts'
import type { AuditRow } from '../../src/domain/audit.ts'
import type { Run, RunPolicy } from '../../src/domain/run.ts'
import { unannounced } from '../../src/domain/run.ts'
import type { Log } from '../../src/log.ts'
import type { Store } from '../../src/store.ts'
import { createWorkLoop, type WorkLoop, type WorkType } from '../../src/work/work-loop.ts'

export const silent: Log = { debug: none, info: none, warn: none, error: none }
function none(): void {}

export interface WorkWorldOptions {
  readonly handlers?: Readonly<Record<string, RunHandler>>
  readonly executors?: Readonly<Record<string, Executor>>
  readonly concurrency?: number
  readonly leaseMs?: number
  readonly policy?: Partial<RunPolicy>
  readonly store?: Store
  readonly confirmDelayMs?: number
  readonly onStuck?: (type: string) => void
  readonly log?: Log
  /** Of the process that executes. The store keeps the machine's. */
  readonly clock?: Clock
}

export interface WorkWorld {
  readonly store: Store
  readonly runs: RunsService
  readonly work: WorkLoop
  claim(type: string, key: string, more?: Partial<JobOptions>): Promise<Claimed>
  /** Resolves when the run has ended in its present round. */
  ended(runId: string): Promise<Run>
  audit(runId: string): Promise<readonly AuditRow[]>
  close(): Promise<void>
}

interface JobOptions {
  readonly subject: string
  readonly rerun: boolean
  readonly input: unknown
}

export async function workWorld(options: WorkWorldOptions): Promise<WorkWorld> {
  const { handlers = {}, executors = {}, concurrency = 4, leaseMs = 5000 } = options
  const machine = { ...systemMachine, ...(options.clock && { clock: options.clock }) }
  const own = options.store ?? (await openStore({ database: { kind: 'sqlite', path: ':memory:' } }))
  const engine = createEmbeddedEngine(machine.scheduler)
  const policy: RunPolicy = {
    ...{ announcement: unannounced, onNewer: 'queue', attempts: 3 },
    ...{ timeoutMs: 60_000, pendingTimeoutMs: 60_000, ...options.policy },
  }
  const runs = createRuns({
    ...machine,
    ...{ store: own, log: silent, leaseMs, headSource: null, engine, policyOf: () => policy },
  })
  const common = {
    ...machine,
    ...{ store: own, log: options.log ?? silent, confirmDelayMs: options.confirmDelayMs ?? 1 },
    ...{ codeVersion: 'v1', github: null },
    publishRights: () => ({ channels: [], contexts: [], labels: [], approve: false, reserved: [] }),
  }
  const byHandlers = Object.entries(handlers).map(
    ([type, handler]) => [type, handlerExecutor(handler, common)] as const,
  )
  const types = new Map<string, WorkType>(
    [...byHandlers, ...Object.entries(executors)].map(([type, executor]) => [
      type,
      { executor, concurrency },
    ]),
  )
  const work = createWorkLoop({
    ...machine,
    ...{ store: own, runs, engine, types, worker: 'test/1', pollMs: 50 },
    log: options.log ?? silent,
    ...{ renewal: null, silenceMs: null, onStuck: options.onStuck ?? none },
  })
  const sweeper = createSweeper({
    ...{ ...machine, store: own, log: silent, serves: true },
    onSwept: (swept) => runs.runsEnded(swept),
  })
  await own.upkeep.beat()
  work.start()
  const ended = async (runId: string): Promise<Run> => {
    for (;;) {
      await sweeper.kick()
      const run = await own.runs.get(runId)
      if (run !== null && !['pending', 'running'].includes(run.state)) return run
      await new Promise((resolve) => machine.scheduler.after(5, () => resolve(null)))
    }
  }
  return {
    store: own,
    runs,
    work,
    ended,
    claim: (type, key, more = {}) =>
      runs.claim({ kind: 'job', type, key, lease: false, ...more }, 'test'),
    audit: async (runId) =>
      (await own.audit.list({ runId }, { limit: 1000, cursor: null })).items.toReversed(),
    async close() {
      await work.stop(0)
      await sweeper.stop()
      await engine.stop()
      if (options.store === undefined) await own.close()
    },
  }
}
