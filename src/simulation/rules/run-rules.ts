/**
 * Rules 1 to 3 and 12 for runs. Every run is rebuilt from its audit rows alone and compared with
 * its row. On the way this finds writes by somebody who did not hold the run, and work that was
 * repeated without a decision.
 */
import type { AuditFact, Facts, RunFact } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { Workers } from '../workers.ts'
import { handledActions } from './inbox-rules.ts'
import type { World, WorldRepository } from '../world.ts'
import { arePairsEqual } from './twin-runs.ts'

interface ReplayedRun {
  readonly state: string
  readonly holder: string | null
  readonly round: number
  readonly attempt: number
}

const activeStates = new Set(['pending', 'running', 'waiting'])
const endStates = new Set(['succeeded', 'failed', 'skipped'])
const repeatReasons = new Set(['rerun', 'retry', 'returned'])
const firstReasons = new Set(['new', 'superseded-prior', 'queued'])
/** Audit types of a run that do not change its state. */
const typesWithoutStateChange = new Set([
  'run.claim_skipped',
  'run.head_verified',
  'run.head_unverified',
  'run.command_ended',
  'run.agent.status_reported',
  'run.github_token_issued',
  'run.purged',
])

export function checkRuns(facts: Facts, findings: Findings): void {
  const runs = new Map<string, ReplayedRun>()
  // By commits, not by key: a key contains the name that the repository had at that time.
  const pairs = new Map(
    facts.runs.map(({ id, subject_id: subject, pair }) => [id, `${subject} ${pair}`]),
  )
  const purgedPairs = new Set<string | undefined>()
  for (const row of facts.audit) {
    if (row.run_id === null) continue
    const pair = pairs.get(row.run_id)
    if (row.type === 'run.purged') purgedPairs.add(pair)
    if (!changesState(row)) continue
    const wasPurged = pair !== undefined && purgedPairs.has(pair)
    const after = applyAuditRow(row, runs.get(row.run_id), wasPurged, findings)
    if (after !== null) runs.set(row.run_id, after)
  }
  for (const run of facts.runs) {
    const replayed = runs.get(run.id)
    const expected = replayed && [replayed.state, replayed.round, replayed.attempt].join(' ')
    const stored = [run.state, run.round, run.attempt].join(' ')
    const differs = (): string =>
      `run ${run.id} is "${stored}", but its audit rows lead to "${expected ?? 'nothing'}"`
    findings.check('12', expected === stored, differs)
  }
}

function changesState(row: AuditFact): boolean {
  if (stateAfterStep(row) !== null) return true
  return /^run\.[a-z_]+$/.test(row.type) && !typesWithoutStateChange.has(row.type)
}

/** The state of the run after a row about a step; null if the row does not change it. */
function stateAfterStep({ type, data }: AuditFact): string | null {
  const isAboutStep = /^(step\.|operator\.step_)/.test(type)
  return isAboutStep ? ((data['run_state'] as string | undefined) ?? null) : null
}

function applyAuditRow(
  row: AuditFact,
  run: ReplayedRun | undefined,
  wasPurged: boolean,
  findings: Findings,
): ReplayedRun | null {
  const kind = row.type.slice('run.'.length)
  const problem = (what: string) => (): string =>
    `audit ${row.id} (${row.type} of ${row.run_id}) ${what}`
  if (kind === 'claimed') return applyClaim(row, run, wasPurged, findings)
  if (kind === 'skipped' && run === undefined) {
    return { state: 'skipped', holder: null, round: row.data['round'] as number, attempt: 1 }
  }
  findings.check('12', run !== undefined, problem('comes before its run was claimed'))
  if (run === undefined) return null
  const byHolder = kind === 'released' || (endStates.has(kind) && 'outcome' in row.data)
  if (byHolder) {
    const isHolder = run.holder === row.actor
    findings.check(
      '2',
      isHolder,
      problem(`is by ${row.actor} while ${run.holder ?? 'nobody'} holds it`),
    )
  }
  findings.check('2', activeStates.has(run.state), problem(`happens to a run that is ${run.state}`))
  const afterStep = stateAfterStep(row)
  if (afterStep !== null) {
    const expected = afterStep === 'waiting' ? 'running' : 'waiting'
    findings.check('2', run.state === expected, problem(`happens to a run that is ${run.state}`))
    return { ...run, state: afterStep, holder: null }
  }
  switch (kind) {
    case 'reclaimed': {
      const { attempt, state } = row.data as { attempt: number; state: string }
      findings.check('3', attempt === run.attempt + 1, problem(`is attempt ${attempt}`))
      return { ...run, state, attempt, holder: state === 'running' ? row.actor : null }
    }
    case 'leased':
      findings.check('3', run.state === 'pending', problem(`leases a run that is ${run.state}`))
      return { ...run, state: 'running', holder: row.actor }
    case 'released':
    case 'dequeued':
      return { ...run, state: 'pending', holder: null }
    case 'heartbeat_lost':
      return { ...run, state: 'pending', holder: null, attempt: run.attempt + 1 }
    default:
      return { ...run, state: kind, holder: null }
  }
}

function applyClaim(
  row: AuditFact,
  run: ReplayedRun | undefined,
  wasPurged: boolean,
  findings: Findings,
): ReplayedRun {
  const { reason, round, attempt, state } = row.data as {
    readonly reason: string
    readonly round: number
    readonly attempt: number
    readonly state: string
  }
  const isFirst = firstReasons.has(reason) && !isQueuedRerun(row)
  const isRepeat = repeatReasons.has(reason) || isQueuedRerun(row)
  const isAgain = isRepeat && run !== undefined && !activeStates.has(run.state)
  const isRestored = reason === 'restored' && run?.state === 'succeeded'
  // A purge removed the run of this key, so a repeat begins with a new row.
  const isAfterPurge = isRepeat && run === undefined && wasPurged
  const isExplained = isFirst ? run === undefined : isAgain || isAfterPurge || isRestored
  findings.check('3', isExplained, () => `audit ${row.id} claims ${row.run_id} as ${reason}`)
  if (isAgain) {
    // The round may rise by more than one where two runs of its key were merged.
    findings.check('3', round > run.round, () => `audit ${row.id} begins round ${round}`)
  }
  return { state, round, attempt, holder: state === 'running' ? row.actor : null }
}

/** A rerun of a type that queues, while another run of its subject is active. */
const isQueuedRerun = ({ data }: AuditFact): boolean =>
  data['reason'] === 'queued' && data['rerun'] === true

/** Outputs are identified by their round, so no two runs of a key may have the same round. */
export function checkRounds(facts: Facts, findings: Findings): void {
  const begun = new Map<string, { readonly round: number; readonly at: number }>()
  let mergedAt = 0
  for (const { id, type, run_id: run, data } of facts.audit) {
    if (type === 'repository.merged') mergedAt = id
    if (type === 'run.claimed' && run !== null && !begun.has(run)) {
      begun.set(run, { round: data['round'] as number, at: id })
    }
  }
  const last = new Map<string, RunFact>()
  const inOrder = facts.runs.toSorted((a, b) => {
    return (begun.get(a.id)?.at ?? a.claim_fence) - (begun.get(b.id)?.at ?? b.claim_fence)
  })
  for (const run of inOrder) {
    const key = `${run.subject_id} ${run.pair}`
    const earlier = last.get(key)
    const before = earlier?.round ?? 0
    const { round: first, at } = begun.get(run.id) ?? { round: run.round, at: run.claim_fence }
    // At that time Holdfast did not know yet that both names are one repository.
    const wasUnknownTwin = earlier !== undefined && earlier.repo !== run.repo && at < mergedAt
    findings.check('3', first > before || wasUnknownTwin, () => {
      return `run ${run.id} begins with round ${first}, but its key had round ${before}`
    })
    last.set(key, run)
  }
}

/** The answers to workers agree with the store: a run answered "done" has ended, and only once. */
export function checkCompletionAnswers(
  facts: Facts,
  world: World,
  workers: Workers,
  findings: Findings,
): void {
  const endsBy = new Map<string, number>()
  for (const { type, actor, run_id: run } of facts.audit) {
    if (!endStates.has(type.replace('run.', ''))) continue
    const key = `${actor} ${run}`
    endsBy.set(key, (endsBy.get(key) ?? 0) + 1)
  }
  for (const { actor, runId, answer, at } of workers.completions) {
    const ends = endsBy.get(`${actor} ${runId}`) ?? 0
    findings.check('2', ends <= 1, () => `${actor} ended ${runId} ${ends} times`)
    if (answer === 'done' && !world.isForgotten(at)) {
      findings.check(
        '12',
        ends === 1,
        () => `${actor} got the answer that ${runId} ended, but it has not`,
      )
    }
  }
}

export function checkHeads(facts: Facts, world: World, findings: Findings): void {
  for (const { repo, number, isOpen } of world.pulls) {
    if (!isOpen) continue
    const scope = facts.repositories.get(repo.id)
    if (scope === undefined && isForgotten(repo, world)) continue
    const { headSha } = world.github.thread(repo.name, number)
    for (const type of Object.keys(world.types)) {
      const subject = facts.subjects.find(
        (one) => one.type === type && one.scope === scope && one.name === `pr-${number}`,
      )
      const current = facts.runs.find(({ id }) => id === subject?.current_run_id)
      const where = `${type} of ${repo.name}#${number}`
      // After a purge of the run, its head stays with the subject.
      findings.check('1', (current ?? subject)?.head_sha === headSha, () => {
        return `${where} has ${describeRun(current)}, but its head is ${headSha}`
      })
      findings.check('1', current?.error_code !== 'pull_request_closed', () => {
        return `${where} is open, but ${describeRun(current)} was cancelled because it was closed`
      })
    }
  }
}

/** A restore lost every webhook of this repository, and only an App can fetch them again. */
function isForgotten({ id }: WorldRepository, world: World): boolean {
  if (world.isApp || world.forgotten === null) return false
  const deliveries = world.github.hooks.log.all().filter(({ repositoryId, status, action }) => {
    return repositoryId === id && status === 'OK' && handledActions.has(action ?? '')
  })
  return deliveries.every(({ deliveredAtMs: at, durationMs: ms }) => {
    return world.isForgotten(at) || world.isForgotten(at + ms)
  })
}

/** Succeeded work is repeated only when a person asked for it, once for each request. */
export function checkReruns(facts: Facts, world: World, findings: Findings): void {
  const reruns = new Map<string, number>()
  for (const row of facts.audit) {
    const { type, run_id: run, data } = row
    const isRerun = type === 'run.claimed' && (data['reason'] === 'rerun' || isQueuedRerun(row))
    if (isRerun && run !== null) reruns.set(run, (reruns.get(run) ?? 0) + 1)
  }
  for (const { id, head_sha: sha, type } of facts.runs) {
    const count = reruns.get(id) ?? 0
    // "Re-run" on a check run reaches only the types that react to it.
    const reacts = (world.types[type]?.rerunOn['check_run'] ?? []).length > 0
    const wanted =
      world.rerunRequestsFor(id) +
      rerunsOfTwins(id, facts, world) +
      (reacts ? world.rerunRequestsFor(sha ?? '') : 0)
    findings.check('3', count <= wanted, () => {
      return `run ${id} was rerun ${count} times, but people asked for it ${wanted} times`
    })
  }
}

/** What people asked for of a run that turned out to be the same one under another name. */
function rerunsOfTwins(id: string, facts: Facts, world: World): number {
  const wasMoved = facts.audit.some(({ type, actor, run_id: run }) => {
    return type === 'operator.rerun_requested' && actor === 'system' && run === id
  })
  if (!wasMoved) return 0
  const twins = facts.runs.filter((run) => run.id !== id && arePairsEqual(id, run.id, facts))
  return twins.reduce((sum, twin) => sum + world.rerunRequestsFor(twin.id), 0)
}

function describeRun(run: RunFact | undefined): string {
  return run === undefined ? 'no run' : `run ${run.id} of ${run.head_sha}`
}
