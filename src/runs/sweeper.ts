/**
 * The sweeper: ends runs that nobody works on, or gives them back. Every second it reads only the
 * due runs. Any number of processes may sweep at the same time.
 */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import type { Run } from '../domain/run.ts'
import { isServedRecently } from '../domain/served.ts'
import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store, StorePart } from '../store.ts'

const everyMs = 1000
const batchMax = 100

export interface SweeperOptions {
  readonly store: StorePart<{ upkeep: 'watch' | 'servedAt'; runs: 'due' | 'sweep' }> &
    Pick<Store, 'now'>
  readonly scheduler: Scheduler
  readonly log: Log
  /**
   * True for a server, which stores its own sign of life. A program that embeds the library only
   * watches, and sweeps only while no server is active.
   */
  readonly serves: boolean
  readonly onSwept: (runs: readonly Run[]) => void
}

export function createSweeper(options: SweeperOptions): BackgroundLoop {
  const { store, scheduler, log } = options

  async function sweepOne(runId: string): Promise<Run | null> {
    const run = await store.runs.sweep(runId)
    if (run !== null) {
      const about = { run_id: runId, state: run.state, code: run.errorCode }
      log.info(about, 'Ended or released a run without an active worker')
    }
    return run
  }

  async function pass(): Promise<void> {
    if (!options.serves) {
      await store.upkeep.watch()
      if (isServedRecently(await store.upkeep.servedAt(), store.now())) return
    }
    const failing = new Set<string>()
    for (;;) {
      // A run that cannot be swept waits for the next pass and must not hide the others.
      const all = await store.runs.due(batchMax + failing.size)
      const due = all.filter((runId) => !failing.has(runId))
      if (due.length === 0) return
      const results = await Promise.allSettled(due.map(sweepOne))
      const swept: Run[] = []
      results.forEach((result, i) => {
        if (result.status === 'fulfilled') {
          if (result.value !== null) swept.push(result.value)
          return
        }
        failing.add(due[i] ?? '')
        log.error(
          { err: result.reason as unknown, run_id: due[i] },
          'Could not check a run without an active worker',
        )
      })
      if (swept.length > 0) options.onSwept(swept)
      if (due.length < batchMax) return
    }
  }

  return backgroundLoop({
    scheduler,
    everyMs,
    pass,
    onError: (error) =>
      log.error({ err: error }, 'Could not check for runs without an active worker; trying again'),
  })
}
