/**
 * What an open delivery waits for, and why another one failed or was skipped, in words. The lists
 * of the command line and `why` both use these. Each text continues a sentence and has no full
 * stop.
 */
import type { DeliveryWait } from '../domain/outbox/delivery.ts'
import { knownReason } from '../domain/outbox/words/closed-reasons.ts'
import { cleanText, quoted } from './why/names.ts'

/** Facts about a waiting delivery that make the text more exact. */
export interface WaitDetails {
  /** The last error; see also `errorOfWait`. */
  readonly error?: string | null
  /** When it is tried next: `now`, or `at 12:05:00 UTC`. */
  readonly next?: string
  /** What is sent before it. */
  readonly before?: string
  /** Which limit it waits for, and until when. */
  readonly limit?: string
  /** The other side says that what we edit is gone. */
  readonly isLost?: boolean
}

export const waitWords: Readonly<Record<DeliveryWait, (details: WaitDetails) => string>> = {
  due: ({ next = 'by a server' }) => `to be sent ${next}`,
  order: ({ before = 'an earlier message of its run' }) => `sent after ${before}`,
  leased: () => 'being sent now',
  backoff: ({ next, ...details }) => {
    const failed = failedWords(details)
    return next === undefined ? `${failed}; it is tried again` : `${failed}; next try ${next}`
  },
  // The failure comes first: it is the cause that people need.
  budget: ({ limit, error = null }) => {
    if (error === null) return limit ?? 'it waits for its turn, because writes to GitHub are spaced'
    return `${failedWords({ error })}; ${limit ?? 'it is tried again when the budget allows it'}`
  },
  in_doubt: ({ next, isLost = false, ...details }) => {
    const what = isLost ? 'GitHub says that it was deleted' : 'it is not known whether it arrived'
    const check = next === undefined ? 'Holdfast checks GitHub' : `Holdfast checks GitHub ${next}`
    return `${what}${errorWords(details)}. ${check} and ${afterCheck(isLost)}`
  },
  held: (details) => `a person has to decide${errorWords(details)}`,
  no_address: () => 'its recipient has no address on this channel',
}

const failedWords = (details: WaitDetails): string => `the last try failed${errorWords(details)}`

const errorWords = ({ error = null }: WaitDetails): string =>
  error === null ? '' : ` (${cleanText(error)})`

/**
 * The error that explains a wait. A delivery that waits for a budget may have the error of an older
 * version, so there it counts only after a failed try.
 */
export const errorOfWait = (wait: DeliveryWait, error: string | null, tries: number) =>
  wait === 'budget' && tries === 0 ? null : error

/** What Holdfast does after it has looked for a delivery in doubt. */
export const afterCheck = (isLost: boolean): string =>
  isLost ? 'creates it again if it is not there' : 'sends it again only if it is not there'

/** `answer`: the last error. */
export function failedBecause(reason: string | null, answer: string | null): string {
  const ownText = knownReason(reason)
  const answerText = answer === null ? null : cleanText(answer)
  if (ownText !== null) {
    return answerText === null ? ownText : `${ownText}; the last answer: ${answerText}`
  }
  const code = reason === null ? null : cleanText(reason, 64)
  if (answerText === null) return code ?? 'the reason is not known'
  return code === null ? answerText : `${answerText} (${code})`
}

/** If an operator skipped it, the reason is in the operator's words. */
export function skippedBecause(reason: string | null): string {
  if (reason === null) return 'the reason is not known'
  return knownReason(reason) ?? quoted(reason)
}
