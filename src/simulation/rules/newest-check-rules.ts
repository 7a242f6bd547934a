/**
 * Rule 5 for check runs: GitHub shows the newest of a name on a commit, whichever run made it. It
 * must say what the last run with a result says, which is also what the commit status shows.
 */
import type { DeliveryFact, Facts, RunFact } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { isExcused } from './excused.ts'
import { repoOf } from './places.ts'
import { expectedOutput, newestWithResult, recordOnlyReasons } from './final-output-rules.ts'

export function checkNewestChecks(facts: Facts, world: World, findings: Findings): void {
  const first = new Map<string, DeliveryFact>()
  for (const delivery of facts.deliveries) {
    if (delivery.name === 'check') first.set(placeOf(delivery), delivery)
  }
  for (const at of first.values()) checkPlace(at, facts, world, findings)
}

function checkPlace(at: DeliveryFact, facts: Facts, world: World, findings: Findings): void {
  const there = facts.deliveries.filter((delivery) => {
    return delivery.channel === 'github-check' && placeOf(delivery) === placeOf(at)
  })
  const runs = facts.runs
    .filter(({ id }) => there.some(({ run_id: of }) => of === id))
    .filter(({ error_code: code }) => !recordOnlyReasons.includes(code ?? ''))
    .toSorted((a, b) => a.claim_fence - b.claim_fence)
  const [shown, ...others] = newestWithResult(runs)
  if (shown === undefined || others.length > 0 || expectedOutput(shown) === null) return
  const isUnknown = there.some((one) => one.status === 'FAILED' || isExcused(one, facts, world))
  if (isUnknown || cannotBeShownAgain(shown, runs) || !wasSent(shown, there)) return
  const repo = repoOf(at, facts, world)
  const name = nameOf(at)
  const checks = world.github.checkRuns(repo, at.sha ?? '').filter((one) => one.name === name)
  // Of those that a restore has forgotten nobody knows whether they are the newest.
  const keys = new Set(there.map(({ marker_key: key }) => key))
  if (checks.some(({ externalId }) => !keys.has(externalId ?? ''))) return
  const newest = checks.toSorted((a, b) => a.id - b.id).at(-1)
  const wanted = expectedOutput(shown)?.check
  findings.check('5', newest?.conclusion === wanted, () => {
    const where = `${name} of ${repo}@${(at.sha ?? '').slice(0, 7)}`
    return `the newest check ${where} is ${newest?.conclusion}, not ${wanted} (run ${shown.id})`
  })
}

/** A purged run says nothing again once another has taken its place. */
const cannotBeShownAgain = ({ purged }: RunFact, runs: readonly RunFact[]): boolean =>
  purged || runs.some((run) => run.purged)

const wasSent = ({ id, round }: RunFact, there: readonly DeliveryFact[]): boolean =>
  there.some(({ target, status }) => {
    return target.startsWith(`check ${id} ${round} `) && status === 'SENT'
  })

const placeOf = (delivery: DeliveryFact): string =>
  `${delivery.repository_id} ${delivery.sha} ${nameOf(delivery)}`

const nameOf = ({ content }: DeliveryFact): string =>
  (JSON.parse(content) as { readonly name: string }).name
