/**
 * The claims that are measured: heads of pull requests as in webhooks, each with its webhook id,
 * time and lease, in a few hundred repositories. And the callers: many at once, each of which
 * claims, waits for the answer and claims again.
 */
import { systemClock } from '../src/clock.ts'
import type { Claim } from '../src/domain/claim.ts'
import { systemRandom } from '../src/random.ts'
import { unannounced } from '../src/domain/run.ts'
import { toClaim } from '../src/runs/claim-request.ts'
import type { ClaimRequest } from '../src/runs/runs.ts'

export const callers = 64
export const repositories = 500
const leaseMs = 60_000

const sha = (): string => systemRandom.bytes(20).toString('hex')

/** All numbers have seven digits, so a newer pull request sorts after older ones, as on GitHub. */
export const firstStoredPr = 1_000_000
let lastPr = 2_000_000
const prsPerProcess = 2_000_000

/** Of several processes that claim in one store, each has its own pull requests. */
export function useNumbersOf(process: number): void {
  lastPr = (process + 1) * prsPerProcess
}

export function newHeads(count: number): Claim[] {
  return Array.from({ length: count }, () => head(++lastPr, `${sha()}${sha()}`.slice(0, 36)))
}

/** The same heads again, each with another webhook id. */
export function redeliver(claims: readonly Claim[]): Claim[] {
  return claims.map((claim) => ({ ...claim, webhookId: sha().slice(0, 36) }))
}

/** A claim of the first head of a new pull request, as a caller sends it. */
export function newPullRequest(type: string): ClaimRequest {
  return opened(type, ++lastPr, `${sha()}${sha()}`.slice(0, 36))
}

function opened(type: string, pr: number, webhookId: string): ClaimRequest {
  return {
    kind: 'pull_request',
    type,
    repo: repositoryName(repositoryOf(pr)),
    pr,
    baseSha: sha(),
    headSha: sha(),
    webhookId,
    event: 'pull_request',
    action: 'opened',
    sender: 'octocat',
    eventAt: systemClock.wallMs(),
  }
}

function head(pr: number, webhookId: string): Claim {
  return toClaim(opened('review', pr, webhookId), {
    policy: {
      announcement: unannounced,
      onNewer: 'supersede',
      attempts: 3,
      timeoutMs: 3_600_000,
      pendingTimeoutMs: 3_600_000,
    },
    lease: { secret: sha(), hash: sha(), ms: leaseMs, holder: 'caller', worker: null },
    leaseMs,
    actor: 'token:bench',
    now: systemClock.wallMs(),
  })
}

export const repositoryName = (number: number | string): string => `acme/service-${number}`

/** Some repositories are far busier than others. */
function repositoryOf(pr: number): number {
  const busy = Math.floor(pr / repositories) % repositories
  return Math.floor(((pr % repositories) * busy) / repositories)
}

/** Claims per second while all callers together work through the items. */
export async function crowdRate<T>(
  items: readonly T[],
  claim: (item: T) => Promise<unknown>,
): Promise<number> {
  const waiting = items.values()
  const caller = async (): Promise<void> => {
    for (const item of waiting) await claim(item)
  }
  return rateOf(items.length, () => Promise.all(Array.from({ length: callers }, caller)))
}

/** Measures work that makes `count` claims. */
export async function rateOf(count: number, work: () => unknown): Promise<number> {
  const began = systemClock.monotonicMs()
  await work()
  return (count * 1000) / (systemClock.monotonicMs() - began)
}
