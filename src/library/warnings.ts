/** Warnings of the library. Without a log, Node prints them to standard error. */
import type { StoreUnavailableError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { CheckedClaim } from './requests.ts'
import { sentence } from '../texts/sentences.ts'

export const orderWarningCode = 'HOLDFAST_ARRIVAL_ORDER'
const storeWarningCode = 'HOLDFAST_STORE_UNREACHABLE'

/** `openHoldfast` resolves without a store, so nothing else says that it cannot be reached. */
export function warnOfStore(error: StoreUnavailableError, log: Log | undefined): void {
  const message =
    `${sentence(`openHoldfast: ${error.message}`)} ` +
    `Until it can be reached, work is let through without a claim.`
  if (log === undefined) process.emitWarning(message, { code: storeWarningCode })
  else log.error({ err: error, code: storeWarningCode }, message)
}

/**
 * Warns once per instance. A claim that does not say when its event happened is ordered by arrival,
 * but webhooks can arrive late and out of order, and the library cannot ask GitHub for the head.
 */
export function orderWarning(log: Log | undefined): (claim: CheckedClaim) => void {
  let hasWarned = false
  return (claim) => {
    const missing = missingFrom(claim)
    if (hasWarned || missing === null) return
    hasWarned = true
    const message =
      `checkAndClaimRun was called without ${missing}: which of two heads is newer is decided ` +
      'by arrival. Pass eventAt (pull_request.updated_at) and, for synchronize, beforeSha (before).'
    if (log === undefined) process.emitWarning(message, { code: orderWarningCode })
    else log.warn({ code: orderWarningCode }, message)
  }
}

/** A rerun is requested by a person, so no event of GitHub belongs to it. */
function missingFrom({ eventAt, beforeSha, action, rerun }: CheckedClaim): string | null {
  if (rerun === true) return null
  if (eventAt === undefined) return 'eventAt'
  return action === 'synchronize' && beforeSha === undefined ? 'beforeSha' : null
}
