/**
 * What an error of a channel's connection means for an attempt or a look: whether the other side
 * may have done something, whether to try again, and when. The channel says which kind of error it
 * is.
 */
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { AttemptAction, Delivery } from '../domain/outbox/delivery.ts'
import type { AttemptEnd, Finding, SendFailure, Trouble } from '../domain/outbox/outcome.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import { isFresh } from '../domain/outbox/schedule.ts'

export interface ErrorContext {
  readonly delivery: Delivery
  readonly channel: ChannelDeclaration
  readonly action: AttemptAction
  /** By the store's clock. */
  readonly now: number
  /** Converts a time of our clock to the store's clock. */
  readonly toStoreTime: (ourMs: number) => number
  readonly rules: PublishingRules
}

/** The wait when the other side does not say how long a limit lasts. */
const limitMs = 60_000

export function attemptEndOf(error: unknown, setting: ErrorContext): AttemptEnd {
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

/** How many looks must not find an unanswered create before it is sent again. */
export function looksOf({ inDoubt }: ChannelDeclaration): 1 | 2 {
  return inDoubt.policy === 'confirm' ? inDoubt.looks : 1
}

/** We know its id on the other side, so somebody may have removed it. A look has to find out. */
function canBeLost({ delivery, channel, action }: ErrorContext): boolean {
  return action === 'edit' && delivery.providerId !== null && channel.replacedBy !== 'set'
}

function refusal(failure: SendFailure, setting: ErrorContext): AttemptEnd {
  const { trouble } = failure
  return mayNotBeVisibleYet(failure, setting)
    ? { what: 'retry', trouble, after: null }
    : { what: 'permanent', trouble }
}

/** GitHub may answer "not found" about a commit that it has only just announced in a webhook. */
function mayNotBeVisibleYet(
  { mayBeUnseen }: SendFailure,
  { delivery, channel, now, rules }: Omit<ErrorContext, 'action'>,
): boolean {
  return mayBeUnseen === true && channel.place === 'commit' && isFresh(delivery, now, rules)
}

export type LookFailure = Extract<Finding, { what: 'look_failed' | 'look_limited' }>

const temporary: readonly SendFailure['kind'][] = ['too_late', 'not_done', 'unanswered']

export function failureOfLook(error: unknown, setting: Omit<ErrorContext, 'action'>): LookFailure {
  const { channel, now, toStoreTime } = setting
  const failure = channel.failureOf(error)
  if (failure === null) return unexpectedFailure(error)
  const { kind, trouble, until } = failure
  const after = until === null ? null : toStoreTime(until)
  if (kind === 'limited') return { what: 'look_limited', until: after ?? now + limitMs }
  // Trying a read again does no harm, and its deadline ends the tries.
  const isTemporary = temporary.includes(kind) || failure.mayPass === true
  return {
    what: 'look_failed',
    trouble,
    after,
    permanent: !isTemporary && !mayNotBeVisibleYet(failure, setting),
  }
}

/** An error of our own code. It is tried again until the deadline. */
export function unexpectedFailure(error: unknown): Extract<LookFailure, { what: 'look_failed' }> {
  return { what: 'look_failed', trouble: unexpected(error), after: null, permanent: false }
}

/** The text contains only our own words, never the other side's. */
function unexpected(error: unknown): Trouble {
  const name = error instanceof Error ? error.name : 'unknown'
  return { code: 'unexpected', text: `an unexpected error stopped it (${name})` }
}
