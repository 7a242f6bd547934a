/**
 * Rebuilds every run from its audit rows alone and compares it with the stored run: every change
 * must have an audit row, and every audit row a change (rule 12). On the way it finds two active
 * runs of one subject (rule 1), a write under an old fence (rule 2), and work that started again
 * without a decision (rule 3). Returns the violations as sentences.
 */
import type { AuditLine, Tables } from './storm-tables.ts'

interface Replayed {
  state: string
  holder: string | null
  round: number
  attempt: number
  fence: number
}

const active = new Set(['pending', 'running', 'waiting'])
const endings = new Set(['succeeded', 'failed', 'skipped'])
const againReasons = new Set(['rerun', 'retry', 'returned'])
const firstReasons = new Set(['new', 'superseded-prior', 'queued'])
/** Rows about a run that do not change it. */
const withoutChange = new Set(['claim_skipped', 'head_verified', 'command_ended'])

export function checkAudit(tables: Tables): string[] {
  const replay = new Replay(tables)
  for (const line of tables.audit) replay.apply(line)
  return [...replay.violations, ...replay.differences(), ...twoActive(tables)]
}

class Replay {
  readonly violations: string[] = []
  readonly #tables: Tables
  readonly #runs = new Map<string, Replayed>()
  readonly #subjectOf: Map<string, string>
  /** Per subject: the run that must be superseded by the very next row, and by whom. */
  readonly #toBeSuperseded = new Map<string, { runId: string; by: string }>()

  constructor(tables: Tables) {
    this.#tables = tables
    this.#subjectOf = new Map(
      tables.runs.map((row) => [row['id'] as string, row['subject_id'] as string]),
    )
  }

  apply(line: AuditLine): void {
    const { runId } = line
    if (runId === null) return
    if (!this.#subjectOf.has(runId)) return this.#say(line, 'tells of a run that is not there')
    this.#checkSuperseded(line, runId)
    const before = this.#runs.get(runId)
    const after = this.#step(line, before)
    if (after !== null) this.#runs.set(runId, after)
    if (after !== null && active.has(after.state)) this.#expectSuperseded(runId)
  }

  #step(line: AuditLine, run: Replayed | undefined): Replayed | null {
    const kind = line.type.replace('run.', '')
    if (kind === 'claimed') return this.#claimed(line, run)
    if (kind === 'skipped' && run === undefined) {
      return { state: 'skipped', holder: null, round: 1, attempt: 1, fence: line.id }
    }
    const afterStep = line.data['run_state'] as string | undefined
    if (afterStep !== undefined && run !== undefined) {
      return { ...run, state: afterStep, holder: null, fence: line.id }
    }
    if (!line.type.startsWith('run.') || withoutChange.has(kind)) return null
    if (run === undefined) {
      this.#say(line, 'comes before its run was claimed')
      return null
    }
    return this.#moved(line, kind, run)
  }

  #claimed(line: AuditLine, run: Replayed | undefined): Replayed {
    const { reason, round, attempt, state } = line.data as unknown as Replayed & { reason: string }
    const first = firstReasons.has(reason)
    const ended = run !== undefined && !active.has(run.state)
    if (first !== (run === undefined))
      this.#say(line, `is ${reason} for a run that was ${run?.state}`)
    if (againReasons.has(reason)) {
      if (!ended) this.#say(line, `begins round ${round} while the last is ${run?.state}`)
      if (run !== undefined && round !== run.round + 1) {
        this.#say(line, `begins round ${round} after ${run.round}`)
      }
    }
    if (reason === 'restored' && run?.state !== 'succeeded') this.#say(line, 'restores no success')
    const holder = state === 'running' ? line.actor : null
    return { state, holder, round, attempt, fence: line.id }
  }

  #moved(line: AuditLine, kind: string, run: Replayed): Replayed {
    const isActive = active.has(run.state)
    const byHolder = kind === 'released' || (endings.has(kind) && 'outcome' in line.data)
    if (byHolder && run.holder !== line.actor) {
      this.#say(line, `is by ${line.actor} while ${run.holder ?? 'nobody'} holds the run`)
    }
    if (!isActive) this.#say(line, `happens to a run that is ${run.state}`)
    switch (kind) {
      case 'reclaimed': {
        if (run.state !== 'running') this.#say(line, `takes a run that is ${run.state}`)
        const { attempt, state } = line.data as unknown as Replayed
        if (attempt !== run.attempt + 1)
          this.#say(line, `is attempt ${attempt} after ${run.attempt}`)
        const holder = state === 'running' ? line.actor : null
        return { ...run, state, holder, attempt, fence: line.id }
      }
      case 'leased':
        if (run.state !== 'pending') this.#say(line, `leases a run that is ${run.state}`)
        return { ...run, state: 'running', holder: line.actor, fence: line.id }
      case 'released':
        return { ...run, state: 'pending', holder: null, fence: line.id }
      case 'heartbeat_lost':
        if (run.state !== 'running') this.#say(line, `gives back a run that is ${run.state}`)
        return { ...run, state: 'pending', holder: null, attempt: run.attempt + 1, fence: line.id }
      default:
        return { ...run, state: kind, holder: null }
    }
  }

  /** An active run of the same subject beside this one has to be superseded by the next row. */
  #expectSuperseded(runId: string): void {
    const subject = this.#subjectOf.get(runId) ?? ''
    for (const [otherId, other] of this.#runs) {
      if (otherId === runId || this.#subjectOf.get(otherId) !== subject) continue
      if (active.has(other.state)) this.#toBeSuperseded.set(subject, { runId: otherId, by: runId })
    }
  }

  #checkSuperseded(line: AuditLine, runId: string): void {
    const subject = this.#subjectOf.get(runId) ?? ''
    const expected = this.#toBeSuperseded.get(subject)
    if (expected === undefined) return
    this.#toBeSuperseded.delete(subject)
    const isSuperseded = line.type === 'run.superseded' && runId === expected.runId
    if (!isSuperseded)
      this.#say(line, `follows while ${expected.runId} and ${expected.by} are both active`)
  }

  differences(): string[] {
    return this.#tables.runs.flatMap((row) => {
      const id = row['id'] as string
      const run = this.#runs.get(id)
      if (run === undefined) return [`run ${id} has no audit row`]
      const audited = [run.state, run.round, run.attempt, run.fence].join(' ')
      const is = ['state', 'round', 'attempt', 'fence'].map((name) => String(row[name])).join(' ')
      return audited === is ? [] : [`run ${id} is "${is}" but its audit rows lead to "${audited}"`]
    })
  }

  #say(line: AuditLine, what: string): void {
    this.violations.push(`audit row ${line.id} (${line.type} of ${line.runId}) ${what}`)
  }
}

function twoActive({ runs }: Tables): string[] {
  const counts = new Map<string, number>()
  for (const row of runs) {
    if (!active.has(row['state'] as string)) continue
    const subject = row['subject_id'] as string
    counts.set(subject, (counts.get(subject) ?? 0) + 1)
  }
  return [...counts].flatMap(([subject, count]) =>
    count > 1 ? [`subject ${subject} has ${count} active runs`] : [],
  )
}
