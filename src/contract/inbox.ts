/** Webhooks in the API: the answer to GitHub, and what the inbox shows later. */
import { z } from 'zod'
import { inboxDecisions, inboxStates, runIdsOf, type InboxEntry } from '../domain/inbox.ts'
import { listOf, maybeTime, paging, time, timeView } from './answers.ts'
import { fromQuery, id, line, positive, repo } from './fields.ts'

const decision = z
  .enum(inboxDecisions)
  .describe('`accepted`, `ignored` (see `reason`), or `duplicate` of an earlier event.')
const reason = z.string().nullable().describe('Why it was ignored or counts as a duplicate.')
const runIds = z.array(z.string()).describe('The runs that it started, or that already existed.')

export const webhookAnswer = z
  .strictObject({
    inbox_id: z.string().describe('See what it led to with `GET /v1/inbox/{id}`.'),
    decision,
    reason,
    run_ids: runIds,
  })
  .register(z.globalRegistry, { id: 'WebhookAnswer' })

export const inboxParams = z.strictObject({
  id: id.describe("The entry's id, or GitHub's GUID of the delivery."),
})

export const inboxQuery = z.strictObject({
  state: z.enum(inboxStates).optional().describe('Only entries in this state.'),
  decision: z.enum(inboxDecisions).optional().describe('Only entries with this decision.'),
  event: z
    .string()
    .regex(/^[a-z0-9_]{1,64}$/, 'must be a GitHub event name such as pull_request')
    .optional()
    .describe('Only this GitHub event, such as `pull_request`.'),
  repo: repo.optional().describe('Only this repository.'),
  number: fromQuery(positive).optional().describe('Only this pull request or issue.'),
  webhook_id: line(200).optional().describe("GitHub's GUID of the delivery."),
  ...paging,
})

const outcome = z.strictObject({
  type: z.string().describe('The run type.'),
  result: z
    .enum(['claimed', 'cancelled', 'skipped', 'ignored', 'failed'])
    .describe('What the event led to for this type.'),
  reason: z.string().describe("The claim's reason, or why nothing was done."),
  detail: z.string().nullable().describe('More about the reason, for people.'),
  run_ids: runIds,
})

const entryFields = {
  id: z.string().describe('Id of the entry.'),
  webhook_id: z.string().describe("GitHub's GUID of the delivery."),
  event: z.string().describe("GitHub's name of the event."),
  action: z.string().nullable().describe('What happened, where the event says so.'),
  repo: z.string().nullable().describe('`owner/name` of the event, in lower case.'),
  number: z.int().nullable().describe('Number of the pull request or issue.'),
  sender: z
    .string()
    .nullable()
    .describe(
      'Login of the account that caused it; null for a deleted account, or if GitHub names none.',
    ),
  state: z
    .enum(inboxStates)
    .describe(
      '`waiting` until it is processed; `failed` if a rule of a run type threw an ' + 'error.',
    ),
  decision,
  reason,
  run_ids: runIds,
  outcomes: z.array(outcome).describe('What it led to, for each run type that listens to it.'),
  duplicate_of: z.string().nullable().describe('The entry that had this event first.'),
  event_at: time.nullable().describe("When it happened, by GitHub's clock."),
  received_at: time.describe('When it was stored.'),
  processed_at: time.nullable().describe('When it was processed.'),
  next_try_at: time.nullable().describe('When a waiting entry is tried again, at the latest.'),
  tries: z.int().describe('How often processing was tried without a decision.'),
  last_error: z.string().nullable().describe('Why the last try failed.'),
}

export const inboxEntry = z
  .strictObject(entryFields)
  .register(z.globalRegistry, { id: 'InboxEntry' })

export const inboxList = listOf(inboxEntry)

export const inboxEntryWithBody = z
  .strictObject({
    ...entryFields,
    headers: z.record(z.string(), z.string()).describe('The headers that GitHub sent.'),
    payload: z.unknown().describe('The body that GitHub sent.'),
  })
  .register(z.globalRegistry, { id: 'InboxEntryWithBody' })

export type InboxQuery = z.infer<typeof inboxQuery>
export type InboxEntryView = z.infer<typeof inboxEntry>
export type InboxList = z.infer<typeof inboxList>
export type InboxEntryWithBodyView = z.infer<typeof inboxEntryWithBody>

export function inboxView(entry: InboxEntry): InboxEntryView {
  return {
    id: entry.id,
    webhook_id: entry.webhookId,
    event: entry.event,
    action: entry.action,
    repo: entry.repo,
    number: entry.number,
    sender: entry.sender,
    state: entry.state,
    decision: entry.decision,
    reason: entry.reason,
    run_ids: [...runIdsOf(entry.outcomes)],
    outcomes: entry.outcomes.map(({ type, result, reason, detail, runIds }) => {
      return { type, result, reason, detail: detail ?? null, run_ids: [...runIds] }
    }),
    duplicate_of: entry.duplicateOf,
    event_at: maybeTime(entry.eventAt),
    received_at: timeView(entry.receivedAt),
    processed_at: maybeTime(entry.processedAt),
    next_try_at: maybeTime(entry.dueAt),
    tries: entry.tries,
    last_error: entry.lastError,
  }
}
