/**
 * What an error of the connection means for the attempt it ended. Told apart by its kind alone:
 * whether anything can have been done, whether it may be tried again, and when.
 */
import type { AttemptAction, Delivery } from '../domain/outbox/delivery.ts'
import type { AttemptEnd, Finding, Trouble } from '../domain/outbox/outcome.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import { isFresh } from '../domain/outbox/schedule.ts'
import { GitHubError } from '../github/errors.ts'

export interface Setting {
  readonly delivery: Delivery
  readonly action: AttemptAction
  /** How often an unanswered create is looked for before it is sent again. */
  readonly looks: 1 | 2
  /** By the store's clock. */
  readonly now: number
  /** From our clock to the store's. */
  readonly toStoreTime: (ourMs: number) => number
  readonly rules: PublishingRules
}

export function endOfError(error: unknown, setting: Setting): AttemptEnd {
  const trouble = troubleOf(error)
  const looks = setting.action === 'create' ? setting.looks : 1
  if (!(error instanceof GitHubError)) return { what: 'in_doubt', trouble, after: null, looks }
  const after = error.until === null ? null : setting.toStoreTime(error.until)
  switch (error.kind) {
    case 'too_late':
      return { what: 'not_sent' }
    case 'network':
    case 'redirected':
      return { what: 'retry', trouble, after }
    case 'unanswered':
      return { what: 'in_doubt', trouble, after, looks }
    case 'rate_limited':
      return { what: 'rate_limited', trouble, until: after ?? setting.now + 60_000 }
    case 'not_found':
    case 'gone':
      if (canBeLost(setting)) return { what: 'gone', trouble }
      return refusal(trouble, setting)
    default:
      if (error.unclear && isWords(setting)) return { what: 'unclear', trouble }
      return refusal(trouble, setting)
  }
}

/** What people are notified of: GitHub limits how fast it may come. */
function isWords({ delivery: { channel } }: Setting): boolean {
  return channel === 'github-comment' || channel === 'github-review'
}

/** What stands under an id of ours may have been removed; whether it was has to be looked at. */
function canBeLost({ delivery, action }: Setting): boolean {
  return action === 'edit' && delivery.providerId !== null && delivery.channel !== 'github-label'
}

function refusal(trouble: Trouble, setting: Setting): AttemptEnd {
  return mayBeHidden(trouble, setting)
    ? { what: 'retry', trouble, after: null }
    : { what: 'permanent', trouble }
}

/** GitHub may not see a commit yet that it has just told us of. */
function mayBeHidden(
  { code }: Trouble,
  { delivery, now, rules }: Pick<Setting, 'delivery' | 'now' | 'rules'>,
): boolean {
  const hidden = code === 'not_found' || code === 'invalid'
  const onCommit = delivery.channel === 'github-status' || delivery.channel === 'github-check'
  return hidden && onCommit && isFresh(delivery, now, rules)
}

export type LookFailure = Extract<Finding, { what: 'look_failed' | 'look_limited' }>

export function failureOfLook(
  error: unknown,
  setting: Omit<Setting, 'action' | 'looks'>,
): LookFailure {
  const { now, toStoreTime } = setting
  const trouble = troubleOf(error)
  if (!(error instanceof GitHubError)) {
    return { what: 'look_failed', trouble, after: null, permanent: false }
  }
  const after = error.until === null ? null : toStoreTime(error.until)
  if (error.kind === 'rate_limited') return { what: 'look_limited', until: after ?? now + 60_000 }
  // A read that is refused once more later has lost nothing; its deadline ends that.
  const passing = ['network', 'unanswered', 'redirected', 'too_late', 'conflict', 'unauthorized']
  const permanent = !passing.includes(error.kind) && !mayBeHidden(trouble, setting)
  return { what: 'look_failed', trouble, after, permanent }
}

/** What broke off before anything was asked is our own fault: tried again, but not for ever. */
export function brokenOff(error: unknown): Extract<LookFailure, { what: 'look_failed' }> {
  return { what: 'look_failed', trouble: troubleOf(error), after: null, permanent: false }
}

/** In our own words: an error's message never carries the other side's. */
function troubleOf(error: unknown): Trouble {
  if (error instanceof GitHubError) return { code: error.kind, text: error.message }
  const name = error instanceof Error ? error.name : 'unknown'
  return { code: 'unexpected', text: `it broke off unexpectedly (${name})` }
}
