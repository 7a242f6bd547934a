/**
 * Told once per instance: a claim that does not say when its event happened is ordered by arrival,
 * and webhooks arrive late and out of order. The library cannot ask GitHub which head is right.
 */
import type { Log } from '../log.ts'
import type { CheckedClaim } from './requests.ts'

export const orderWarningCode = 'HOLDFAST_ARRIVAL_ORDER'

/** Without a log it is a warning of the process, which shows on standard error. */
export function orderWarning(log: Log | undefined): (claim: CheckedClaim) => void {
  let isTold = false
  return (claim) => {
    const missing = missingFrom(claim)
    if (isTold || missing === null) return
    isTold = true
    const message =
      `checkAndClaimRun was called without ${missing}: which of two heads is newer is decided ` +
      'by arrival. Pass eventAt (pull_request.updated_at) and, for synchronize, beforeSha (before).'
    if (log === undefined) process.emitWarning(message, { code: orderWarningCode })
    else log.warn({ code: orderWarningCode }, message)
  }
}

/** A rerun is a person's wish, not an event of GitHub. */
function missingFrom({ eventAt, beforeSha, action, rerun }: CheckedClaim): string | null {
  if (rerun === true) return null
  if (eventAt === undefined) return 'eventAt'
  return action === 'synchronize' && beforeSha === undefined ? 'beforeSha' : null
}
