/** What the store answers about claims and leases, with the tokens that holders get. */
import { leaseToken, runToken } from '../secrets.ts'
import type { ClaimAnswer, LeaseAnswer } from '../store.ts'
import type { Claimed, Leased } from './runs.ts'

export function claimedView(answer: ClaimAnswer): Claimed {
  const { run, lease } = answer
  return {
    shouldProcess: answer.process,
    reason: answer.reason,
    runKey: answer.runKey,
    supersededRunKeys: answer.supersededKeys,
    run,
    lease: lease && { token: leaseToken(lease.secret), expiresAt: lease.expiresAt },
    runToken: lease && run && runToken(run.id, lease.secret),
  }
}

export function leasedView({ run, lease, steps }: LeaseAnswer): Leased {
  return {
    run,
    steps,
    lease: { token: leaseToken(lease.secret), expiresAt: lease.expiresAt },
    runToken: runToken(run.id, lease.secret),
  }
}
