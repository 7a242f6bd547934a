/**
 * Rules 5 and 7, checked after the quiet hours: everything announced is closed on GitHub, with the
 * right result and in its newest version.
 */
import type { SimulatedCheckRun } from '../../simulator/index.ts'
import type { DeliveryFact, Facts, RunFact } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { isExcused } from './excused.ts'
import { repoOf, targetOf } from './places.ts'

/** The contract's results, repeated here so that a mistake in the product's table is noticed. */
interface ExpectedOutput {
  readonly status: 'success' | 'failure' | 'error'
  readonly check: string
  readonly headline: string
}

const byVerdict: Readonly<Record<string, ExpectedOutput>> = {
  success: { status: 'success', check: 'success', headline: 'passed' },
  failure: { status: 'failure', check: 'failure', headline: 'not passed' },
  neutral: { status: 'success', check: 'neutral', headline: 'done, no verdict' },
}
const byError: Readonly<Record<string, ExpectedOutput>> = {
  timeout: { status: 'error', check: 'timed_out', headline: 'timed out' },
  step_unresolved: { status: 'error', check: 'timed_out', headline: 'timed out' },
  no_worker: { status: 'error', check: 'cancelled', headline: 'no worker' },
  worker_lost: { status: 'error', check: 'cancelled', headline: 'worker lost' },
  attempts_exhausted: { status: 'error', check: 'cancelled', headline: 'worker lost' },
}
const byState: Readonly<Record<string, ExpectedOutput>> = {
  failed: { status: 'failure', check: 'failure', headline: 'failed' },
  skipped: { status: 'success', check: 'skipped', headline: 'skipped' },
  cancelled: { status: 'error', check: 'cancelled', headline: 'cancelled' },
  superseded: { status: 'error', check: 'cancelled', headline: 'superseded by a newer commit' },
}

export function expectedOutput(run: RunFact): ExpectedOutput | null {
  if (run.state === 'succeeded') return byVerdict[run.verdict ?? 'success'] ?? null
  const outputOfError = run.state === 'failed' ? byError[run.error_code ?? ''] : undefined
  return outputOfError ?? byState[run.state] ?? null
}

/** Error codes of runs that are stored only for the record: they announce nothing. */
export const recordOnlyReasons: readonly string[] = [
  'stale-event',
  'busy',
  'head-newer-than-comment',
]

export function checkAllClosed(facts: Facts, world: World, findings: Findings): void {
  for (const { id, state } of facts.runs) {
    const ended = !['pending', 'running', 'waiting'].includes(state)
    findings.check('5', ended, () => `run ${id} is still ${state}`)
  }
  for (const delivery of facts.deliveries) {
    const { id, status, wait, reason, target } = delivery
    findings.check('5', status !== 'PENDING', () => `${id} (${target}) is still open: ${wait}`)
    const isFine = status !== 'FAILED' || isExcused(delivery, facts, world)
    findings.check('5', isFine, () => `${id} (${target}) is FAILED: ${reason}`)
  }
}

export function checkStatuses(facts: Facts, world: World, findings: Findings): void {
  for (const delivery of facts.deliveries) {
    if (delivery.channel !== 'github-status') continue
    if (isExcused(targetHolder(delivery, facts), facts, world)) continue
    const context = (JSON.parse(delivery.content) as { context: string }).context
    const repo = repoOf(delivery, facts, world)
    const latest = world.github.latestStatus(repo, delivery.sha ?? '', context)
    const where = `${context} of ${repo}@${(delivery.sha ?? '').slice(0, 7)}`
    const isOpen = latest?.state === 'pending'
    findings.check('5', !isOpen, () => `the status ${where} is still pending`)
    const owners = ownersOf(delivery, facts)
    if (delivery.name !== 'status' || owners.length === 0) continue
    if (targetHolder(delivery, facts).reason === 'never_announced') continue
    const isRight = owners.some((run) => expectedOutput(run)?.status === latest?.state)
    findings.check('5', isRight, () => {
      const wanted = owners
        .map((run) => `${expectedOutput(run)?.status} (run ${run.id})`)
        .join(' or ')
      return `the status ${where} is ${latest?.state ?? 'missing'}, not ${wanted}`
    })
  }
}

/** The delivery that has the target now: another one if this one lost it in a merge. */
function targetHolder(delivery: DeliveryFact, { deliveries }: Facts): DeliveryFact {
  const target = targetOf(delivery)
  if (target === delivery.target) return delivery
  return deliveries.find((other) => other.target === target) ?? delivery
}

/**
 * The runs whose result the status may show: the last to claim among all that write there, also
 * runs of another pull request with the same commit. If all ended without a result, any of them.
 */
function ownersOf(delivery: DeliveryFact, facts: Facts): readonly RunFact[] {
  const { context } = JSON.parse(delivery.content) as { readonly context: string }
  const scopes = new Map(facts.subjects.map(({ id, scope }) => [id, scope]))
  const all = facts.runs
    .filter(
      (run) =>
        run.head_sha === delivery.sha &&
        scopes.get(run.subject_id) === delivery.repository_id &&
        run.status_context === context &&
        !recordOnlyReasons.includes(run.error_code ?? ''),
    )
    .toSorted((a, b) => a.claim_fence - b.claim_fence)
  const newest = newestWithResult(all)
  // Once another run has replaced a purged one, its result cannot be shown again.
  return newest[0]?.purged === true
    ? [...newest, ...newestWithResult(all.filter(isNotPurged))]
    : newest
}

/** The newest run that has a result; all runs if none has one. */
export function newestWithResult(runs: readonly RunFact[]): readonly RunFact[] {
  const newest = runs.findLast(({ state }) => !withoutResult.has(state))
  return newest === undefined ? runs : [newest]
}

const isNotPurged = ({ purged }: RunFact): boolean => !purged

const withoutResult = new Set(['cancelled', 'superseded', 'skipped'])

export function checkCheckRuns(facts: Facts, world: World, findings: Findings): void {
  for (const delivery of facts.deliveries) {
    if (delivery.channel !== 'github-check' || isExcused(delivery, facts, world)) continue
    const repo = repoOf(delivery, facts, world)
    const all = world.github
      .checkRuns(repo, delivery.sha ?? '')
      .filter(({ externalId }) => externalId === delivery.marker_key)
    const current = all.filter(({ id }) => String(id) === delivery.provider_id)
    for (const check of all) {
      findings.check(
        '5',
        check.status === 'completed',
        () => `${describeCheck(check, repo)} is still open`,
      )
    }
    const run = facts.runs.find(({ id }) => id === delivery.run_id)
    const isNewest = delivery.target.startsWith(`check ${run?.id} ${run?.round} `)
    if (delivery.name !== 'check' || run === undefined || !isNewest) continue
    if (delivery.reason === 'never_announced') continue
    const wanted = expectedOutput(run)?.check
    const conclusion = current[0]?.conclusion
    findings.check('5', conclusion === wanted, () => {
      return `the check of run ${run.id} is ${conclusion ?? 'missing'}, not ${wanted}`
    })
  }
}

const describeCheck = ({ id, name, headSha }: SimulatedCheckRun, repo: string): string =>
  `check run ${id} (${name}) of ${repo}@${headSha.slice(0, 7)}`

/** Rule 7 for anchors: they show the headline, the commit and the summary of the newest run. */
export function checkAnchors(facts: Facts, world: World, findings: Findings): void {
  for (const delivery of facts.deliveries) {
    if (delivery.name !== 'anchor') continue
    if (isExcused(targetHolder(delivery, facts), facts, world)) continue
    if (isTakenOver(delivery, facts)) continue
    const repo = repoOf(delivery, facts, world)
    const comments = world.github.comments(repo, delivery.thread ?? 0)
    const anchor = comments.find(({ body, author }) => {
      return author === world.ourLogin && body.includes(delivery.marker_key)
    })
    // People may delete or edit an anchor, and their change stays.
    if (anchor === undefined || anchor.versions.at(-1)?.request === null) continue
    const where = `anchor ${anchor.id} on ${repo}#${delivery.thread}`
    const [headline = ''] = anchor.body.split('\n')
    const showsWork = /: (running|waiting for a (worker|person))$/.test(headline)
    findings.check('5', !showsWork, () => `${where} says: ${headline}`)
    const run = anchorOwner(delivery, facts)
    if (run === undefined || delivery.reason !== null) continue
    const wanted = expectedOutput(run)?.headline ?? ''
    findings.check('7', headline.endsWith(`: ${wanted}`), () => {
      return `${where} says "${headline}", but run ${run.id} is ${run.state} (${wanted})`
    })
    const shows =
      anchor.body.includes((run.head_sha ?? '').slice(0, 7)) &&
      anchor.body.includes(run.summary ?? '')
    findings.check('7', shows, () => `${where} does not show ${run.head_sha} "${run.summary}"`)
  }
}

/** Its run was purged, and a later run of the same commits has taken the comment over. */
function isTakenOver({ purged, marker_key: key, ...by }: DeliveryFact, facts: Facts): boolean {
  return (
    purged &&
    facts.deliveries.some((other) => {
      const isSame = other.marker_key === key && other.repository_id === by.repository_id
      return isSame && other.thread === by.thread && other.version_fence > by.version_fence
    })
  )
}

function anchorOwner(delivery: DeliveryFact, facts: Facts): RunFact | undefined {
  if (delivery.target.startsWith('anchor run ')) {
    return facts.runs.find(({ id }) => id === delivery.run_id)
  }
  return facts.runs
    .filter((run) => run.subject_id === delivery.subject_id)
    .filter((run) => !recordOnlyReasons.includes(run.error_code ?? ''))
    .toSorted((a, b) => a.claim_fence - b.claim_fence)
    .at(-1)
}
