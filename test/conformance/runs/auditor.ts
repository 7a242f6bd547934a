/**
 * Checks a walk after every step. Rebuilds each run from audit rows alone, so that a change without
 * its row, or a row without its change, is found at once.
 *
 * Rule 1: at most one active run where the type supersedes, and it is the current one. Beyond that:
 * at most one run is worked on per subject, a queue is never without one that is ahead, and fences
 * only grow.
 */
import { expect } from 'vitest'
import type { AuditRow } from '../../../src/domain/audit.ts'
import type { Run, RunState } from '../../../src/domain/run.ts'
import { checkCause } from '../audit/causes.ts'
import type { TestSubject } from '../test-subject.ts'
import type { Walk } from './walk.ts'

interface AuditedRun {
  readonly state: RunState | null
  readonly round: number
  readonly attempt: number
}

const unaudited: AuditedRun = { state: null, round: 1, attempt: 1 }

/** The run as this audit row leaves it. */
function applyRow(before: AuditedRun, { type, data }: AuditRow): AuditedRun {
  switch (type) {
    case 'run.claimed':
    case 'run.reclaimed':
      return {
        state: data['state'] as RunState,
        round: data['round'] as number,
        attempt: data['attempt'] as number,
      }
    case 'run.leased':
      return { ...before, state: 'running' }
    case 'run.released':
      return { ...before, state: 'pending' }
    case 'run.heartbeat_lost':
      return { ...before, state: 'pending', attempt: before.attempt + 1 }
    case 'step.held':
    case 'step.late':
    case 'operator.step_confirmed':
    case 'operator.step_repeated':
    case 'operator.step_failed':
      return { ...before, state: (data['run_state'] as RunState | undefined) ?? before.state }
    case 'run.superseded':
    case 'run.succeeded':
    case 'run.failed':
    case 'run.cancelled':
    case 'run.skipped':
      return { ...before, state: type.slice('run.'.length) as RunState }
    default:
      return before
  }
}

const isActive = ({ state }: Run): boolean => ['pending', 'running', 'waiting'].includes(state)

export class Auditor {
  readonly #walk: Walk
  readonly #audited = new Map<string, AuditedRun>()
  readonly #fences = new Map<string, number>()
  readonly #floors = new Map<string, number>()
  #lastAudit: number

  private constructor(walk: Walk, lastAudit: number) {
    this.#walk = walk
    this.#lastAudit = lastAudit
  }

  static async begin(walk: Walk): Promise<Auditor> {
    const { items } = await walk.world.store.audit.list({}, { limit: 1, cursor: null })
    return new Auditor(walk, items[0]?.id ?? 0)
  }

  async check(): Promise<void> {
    await this.#readAudits()
    for (const subject of this.#walk.subjects) {
      const page = { limit: 100, cursor: null }
      const { items } = await this.#walk.world.store.runs.list({ type: subject.type }, page)
      for (const run of items) this.#checkRun(run)
      if (items.length > 0) await this.#checkSubject(subject, items)
    }
  }

  async #readAudits(): Promise<void> {
    const page = { limit: 200, cursor: null }
    const { items } = await this.#walk.world.store.audit.list({}, page)
    const fresh = items.filter(({ id }) => id > this.#lastAudit).toReversed()
    const byId = new Map(items.map((row) => [row.id, row]))
    for (const row of fresh) {
      this.#lastAudit = row.id
      // The cause may be older than the rows of this page.
      if (byId.has(row.causeId ?? row.id)) checkCause(row, byId)
      if (row.runId === null) continue
      this.#audited.set(row.runId, applyRow(this.#audited.get(row.runId) ?? unaudited, row))
    }
  }

  #checkRun(run: Run): void {
    const { state, round, attempt } = run
    expect(this.#audited.get(run.id), `the audit of ${run.key}`).toEqual({ state, round, attempt })
    const fence = this.#fences.get(run.id) ?? 0
    expect(run.fence, `the fence of ${run.key}`).toBeGreaterThanOrEqual(fence)
    this.#fences.set(run.id, run.fence)
  }

  async #checkSubject(subject: TestSubject, runs: readonly Run[]): Promise<void> {
    const active = runs.filter(isActive)
    const held = active.filter(({ state }) => state !== 'pending')
    expect(held.length, 'runs being worked on').toBeLessThanOrEqual(1)
    const row = await this.#walk.world.store.runs.subject(runs[0]!.subjectId)
    if (subject.policy.onNewer === 'supersede') {
      expect(active.length, 'active runs').toBeLessThanOrEqual(1)
      for (const run of active) expect(run.pair, 'the current key').toBe(row?.currentPair)
    }
    if (active.length > 0) {
      const ahead = active.filter((run) => run.state !== 'pending' || run.availableAt !== null)
      expect(ahead.length, 'runs that are ahead of a queue').toBe(1)
    }
    const floor = row?.floorAt ?? -Infinity
    expect(floor).toBeGreaterThanOrEqual(this.#floors.get(subject.type) ?? -Infinity)
    expect(row?.headAt ?? -Infinity).toBeLessThanOrEqual(floor)
    this.#floors.set(subject.type, floor)
  }
}
