/** What catch-up found. */
import { z } from 'zod'
import type { CatchUpReport } from '../intake/catch-up/catch-up-report.ts'

export const catchUpReport = z
  .strictObject({
    ingested: z.int().describe('Webhooks that GitHub sent and that did not arrive: fetched now.'),
    reconciled: z.int().describe('Pull requests that had changed without a webhook.'),
    runs_made: z.array(z.string()).describe('Ids of the runs they led to.'),
    runs_cancelled: z.array(z.string()).describe('Ids of runs whose pull request was closed.'),
    looked_at: z
      .strictObject({
        deliveries: z.int().describe("Entries of GitHub's own list of sent webhooks."),
        repositories: z.int().describe('Repositories whose pull requests were checked.'),
        pull_requests: z.int().describe('Pull requests that may have changed without a webhook.'),
      })
      .describe('How much was checked.'),
    skipped: z
      .array(
        z.strictObject({
          what: z.string().describe('A repository, a webhook, or all webhooks.'),
          reason: z.string().describe('Why it was not checked or not taken in.'),
        }),
      )
      .describe('What was skipped: at most 100 entries.'),
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
