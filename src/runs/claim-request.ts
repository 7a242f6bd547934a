/** Makes a claim from a caller's request: its keys, its subject, and whether it makes a head. */
import type { Claim } from '../domain/claim.ts'
import { clocksDifferMsMax } from '../domain/head-order.ts'
import { pairOf, pullRequestKey } from '../domain/pair.ts'
import type { LeaseGrant, RunPolicy } from '../domain/run.ts'
import { InvalidInputError } from '../errors.ts'
import type { ClaimRequest, JobClaim, PullRequestClaim } from './runs.ts'

/** Clocks differ a little. An event further ahead would make every later event stale. */
const aheadMsMax = 5 * 60 * 1000

/** Actions after which the head or the base may be another one. */
const headMakingActions = new Set([
  'opened',
  'reopened',
  'synchronize',
  'edited',
  'ready_for_review',
])

export function isTooFarAhead(eventAt: number, now: number): boolean {
  return eventAt > now + aheadMsMax
}

/**
 * A caller may send its own time instead of GitHub's. If that time is ahead of our clock, the next
 * push or close from GitHub would look stale. So such a time is dropped. A time that is too far
 * ahead stays, because the claim is then refused.
 */
export function byCallersClock(request: ClaimRequest, now: number): ClaimRequest {
  const { eventAt } = request
  if (eventAt === undefined || eventAt <= now + clocksDifferMsMax) return request
  return isTooFarAhead(eventAt, now) ? request : { ...request, eventAt: undefined }
}

export interface ClaimSetting {
  readonly policy: RunPolicy
  readonly lease: LeaseGrant | null
  readonly leaseMs: number
  readonly actor: string
  readonly now: number
}

export function toClaim(request: ClaimRequest, setting: ClaimSetting): Claim {
  const { eventAt, action, rerun } = request
  if (eventAt !== undefined && isTooFarAhead(eventAt, setting.now)) {
    throw new InvalidInputError(
      'event_in_future',
      'event_at',
      'event_at is more than five minutes ahead of the store’s clock',
      { hint: 'Send the time of the GitHub event, and check the clock of its sender.' },
    )
  }
  const identity =
    request.kind === 'pull_request' ? pullRequestIdentity(request) : jobIdentity(request)
  return {
    ...identity,
    type: request.type,
    policy: setting.policy,
    repoId: request.repoId ?? null,
    threadCreatedAt: request.threadCreatedAt ?? null,
    headMaking: request.headMaking ?? (rerun !== true && makesHead(action)),
    headFromGitHub: request.headFromGitHub ?? false,
    eventAt: eventAt === undefined ? null : wholeSecond(eventAt),
    webhookId: request.webhookId ?? null,
    event: request.event ?? null,
    action: action ?? null,
    sender: request.sender ?? null,
    rerun: rerun ?? false,
    mayQueue: request.queue ?? true,
    skipReason: request.skipReason ?? null,
    input: request.input === undefined ? null : JSON.stringify(request.input),
    lease: setting.lease,
    leaseMs: setting.leaseMs,
    actor: setting.actor,
  }
}

/**
 * GitHub's times are whole seconds: with milliseconds, a webhook of the same second looks older.
 */
function wholeSecond(ms: number): number {
  return ms - (ms % 1000)
}

function makesHead(action: string | undefined): boolean {
  return action === undefined || headMakingActions.has(action)
}

/** What the claim is about. */
type Identity = Pick<
  Claim,
  'repo' | 'subjectName' | 'key' | 'pair' | 'pr' | 'baseSha' | 'headSha' | 'beforeSha'
>

function pullRequestIdentity(request: PullRequestClaim): Identity {
  const repo = request.repo.toLowerCase()
  const baseSha = request.baseSha.toLowerCase()
  const headSha = request.headSha.toLowerCase()
  const shas = { baseSha, headSha }
  return {
    repo,
    subjectName: `pr-${request.pr}`,
    key: pullRequestKey(repo, request.pr, shas),
    pair: pairOf(shas),
    pr: request.pr,
    ...shas,
    beforeSha: request.beforeSha?.toLowerCase() ?? null,
  }
}

/** Names reserved for pull requests. A job with such a name gets the prefix `job `. */
const pullRequestName = /^(?:job )*pr-\d+$/

function jobIdentity(request: JobClaim): Identity {
  const name = request.subject ?? request.key
  return {
    repo: request.repo?.toLowerCase() ?? null,
    subjectName: pullRequestName.test(name) ? `job ${name}` : name,
    key: request.key,
    pair: request.pair ?? request.key,
    pr: null,
    baseSha: null,
    headSha: request.sha?.toLowerCase() ?? null,
    beforeSha: null,
  }
}
