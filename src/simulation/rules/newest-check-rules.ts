/**
 * Rule 5 for check runs: of several check runs with one name on a commit, GitHub shows the newest,
 * whichever run made it. It must show the result of the last run that has one, as the commit status
 * does.
 */
import type { DeliveryFact, Facts, RunFact } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { isExcused } from './excused.ts'
import { repoOf } from './places.ts'
import { expectedOutput, newestWithResult, recordOnlyReasons } from './final-output-rules.ts'

export function checkNewestChecks(facts: Facts, world: World, findings: Findings): void {
  const samples = new Map<string, DeliveryFact>()
  for (const delivery of facts.deliveries) {
    if (delivery.name === 'check') samples.set(placeOf(delivery), delivery)
  }
  for (const sample of samples.values()) checkPlace(sample, facts, world, findings)
}

function checkPlace(sample: DeliveryFact, facts: Facts, world: World, findings: Findings): void {
  const deliveries = facts.deliveries.filter((delivery) => {
    return delivery.channel === 'github-check' && placeOf(delivery) === placeOf(sample)
  })
  const runs = facts.runs
    .filter(({ id }) => deliveries.some(({ run_id: runId }) => runId === id))
    .filter(({ error_code: code }) => !recordOnlyReasons.includes(code ?? ''))
    .toSorted((a, b) => a.claim_fence - b.claim_fence)
  const [expectedRun, ...others] = newestWithResult(runs)
  if (expectedRun === undefined || others.length > 0 || expectedOutput(expectedRun) === null) return
  const isUnknown = deliveries.some((delivery) => {
    return delivery.status === 'FAILED' || isExcused(delivery, facts, world)
  })
  if (isUnknown || cannotBeShownAgain(expectedRun, runs) || !wasSent(expectedRun, deliveries))
    return
  const repo = repoOf(sample, facts, world)
  const name = nameOf(sample)
  const checks = world.github
    .checkRuns(repo, sample.sha ?? '')
    .filter((check) => check.name === name)
  // Holdfast cannot know of check runs that a restore has lost, and one may be the newest.
  const keys = new Set(deliveries.map(({ marker_key: key }) => key))
  if (checks.some(({ externalId }) => !keys.has(externalId ?? ''))) return
  const newest = checks.toSorted((a, b) => a.id - b.id).at(-1)
  const wanted = expectedOutput(expectedRun)?.check
  findings.check('5', newest?.conclusion === wanted, () => {
    const where = `${name} of ${repo}@${(sample.sha ?? '').slice(0, 7)}`
    const expected = `${wanted} (run ${expectedRun.id})`
    return `the newest check ${where} is ${newest?.conclusion}, not ${expected}`
  })
}

/** Once another run has replaced a purged one, its result cannot be shown again. */
const cannotBeShownAgain = ({ purged }: RunFact, runs: readonly RunFact[]): boolean =>
  purged || runs.some((run) => run.purged)

const wasSent = ({ id, round }: RunFact, deliveries: readonly DeliveryFact[]): boolean =>
  deliveries.some(({ target, status }) => {
    return target.startsWith(`check ${id} ${round} `) && status === 'SENT'
  })

const placeOf = (delivery: DeliveryFact): string =>
  `${delivery.repository_id} ${delivery.sha} ${nameOf(delivery)}`

const nameOf = ({ content }: DeliveryFact): string =>
  (JSON.parse(content) as { readonly name: string }).name
