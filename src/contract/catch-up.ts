/** What a look for missed webhooks found. */
import { z } from 'zod'
import type { CatchUpReport } from '../intake/catch-up-report.ts'

export const catchUpReport = z
  .strictObject({
    ingested: z.int().describe('Webhooks that GitHub sent and that never came: fetched now.'),
    reconciled: z.int().describe('Pull requests that were not as we knew them.'),
    runs_made: z.array(z.string()).describe('Ids of the runs they led to.'),
    runs_cancelled: z.array(z.string()).describe('Ids of runs whose pull request was closed.'),
    looked_at: z
      .strictObject({
        deliveries: z.int().describe('Entries of the record that GitHub keeps of what it sent.'),
        repositories: z.int().describe('Repositories whose pull requests were looked at.'),
        pull_requests: z.int().describe('Pull requests that may have changed unheard.'),
      })
      .describe('How much there was to look at.'),
    skipped: z
      .array(
        z.strictObject({
          what: z.string().describe('A repository, a webhook, or all webhooks.'),
          reason: z.string().describe('Why it was not looked at or not taken.'),
        }),
      )
      .describe('What was left out; at most a hundred.'),
  })
  .register(z.globalRegistry, { id: 'CatchUpReport' })

export type CatchUpView = z.infer<typeof catchUpReport>

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
