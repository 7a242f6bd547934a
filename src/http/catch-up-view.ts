/** A pass of catch-up as every door shows it. */
import type { CatchUpReport } from '../intake/catch-up-report.ts'
import type { CatchUpView } from './contract.ts'

export function catchUpView(report: CatchUpReport): CatchUpView {
  const { ingested, reconciled, runsMade, runsCancelled, lookedAt, skipped } = report
  const { deliveries, repositories, pullRequests } = lookedAt
  return {
    ingested,
    reconciled,
    runs_made: [...runsMade],
    runs_cancelled: [...runsCancelled],
    looked_at: { deliveries, repositories, pull_requests: pullRequests },
    skipped: [...skipped],
  }
}
