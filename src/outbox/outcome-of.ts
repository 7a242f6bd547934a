/**
 * What an error of a channel's connection means for the attempt it ended: whether anything can have
 * been done, whether it may be tried again, and when. The channel says what kind of error it is.
 */
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { AttemptAction, Delivery } from '../domain/outbox/delivery.ts'
import type { AttemptEnd, Finding, SendFailure, Trouble } from '../domain/outbox/outcome.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import { isFresh } from '../domain/outbox/schedule.ts'

export interface Setting {
  readonly delivery: Delivery
  readonly channel: ChannelDeclaration
  readonly action: AttemptAction
  /** By the store's clock. */
  readonly now: number
  /** From our clock to the store's. */
  readonly toStoreTime: (ourMs: number) => number
  readonly rules: PublishingRules
}

/** Where nobody says how long a limit lasts. */
const limitMs = 60_000

export function endOfError(error: unknown, setting: Setting): AttemptEnd {
  const looks = setting.action === 'create' ? looksOf(setting.channel) : 1
  const failure = setting.channel.failureOf(error)
  if (failure === null) {
    return { what: 'in_doubt', trouble: unexpected(error), after: null, looks }
  }
  const { trouble } = failure
  const after = failure.until === null ? null : setting.toStoreTime(failure.until)
  switch (failure.kind) {
    case 'too_late':
      return { what: 'not_sent' }
    case 'not_done':
      return { what: 'retry', trouble, after }
    case 'unanswered':
      return { what: 'in_doubt', trouble, after, looks }
    case 'limited':
      return { what: 'rate_limited', trouble, until: after ?? setting.now + limitMs }
    case 'missing':
      if (canBeLost(setting)) return { what: 'gone', trouble }
      return refusal(failure, setting)
    case 'refused':
      if (failure.unclear === true && setting.channel.notifiesPeople) {
        return { what: 'unclear', trouble }
      }
      return refusal(failure, setting)
  }
}

/** How often an unanswered create is looked for before it is sent again. */
export function looksOf({ inDoubt }: ChannelDeclaration): 1 | 2 {
  return inDoubt.policy === 'confirm' ? inDoubt.looks : 1
}

/** What is there under an id of ours may have been removed; whether it was has to be looked at. */
function canBeLost({ delivery, channel, action }: Setting): boolean {
  return action === 'edit' && delivery.providerId !== null && channel.replacedBy !== 'set'
}

function refusal(failure: SendFailure, setting: Setting): AttemptEnd {
  const { trouble } = failure
  return isUnseen(failure, setting)
    ? { what: 'retry', trouble, after: null }
    : { what: 'permanent', trouble }
}

/** The other side may not see a commit yet that it has just told us of. */
function isUnseen(
  { mayBeUnseen }: SendFailure,
  { delivery, channel, now, rules }: Omit<Setting, 'action'>,
): boolean {
  return mayBeUnseen === true && channel.place === 'commit' && isFresh(delivery, now, rules)
}

export type LookFailure = Extract<Finding, { what: 'look_failed' | 'look_limited' }>

const passing: readonly SendFailure['kind'][] = ['too_late', 'not_done', 'unanswered']

export function failureOfLook(error: unknown, setting: Omit<Setting, 'action'>): LookFailure {
  const { channel, now, toStoreTime } = setting
  const failure = channel.failureOf(error)
  if (failure === null) return brokenOff(error)
  const { kind, trouble, until } = failure
  const after = until === null ? null : toStoreTime(until)
  if (kind === 'limited') return { what: 'look_limited', until: after ?? now + limitMs }
  // A read that is refused once more later has lost nothing; its deadline ends that.
  const passes = passing.includes(kind) || failure.mayPass === true
  return { what: 'look_failed', trouble, after, permanent: !passes && !isUnseen(failure, setting) }
}

/** What broke off before anything was asked is our own fault: tried again, but not for ever. */
export function brokenOff(error: unknown): Extract<LookFailure, { what: 'look_failed' }> {
  return { what: 'look_failed', trouble: unexpected(error), after: null, permanent: false }
}

/** In our own words: an error's message never carries the other side's. */
function unexpected(error: unknown): Trouble {
  const name = error instanceof Error ? error.name : 'unknown'
  return { code: 'unexpected', text: `it broke off unexpectedly (${name})` }
}
