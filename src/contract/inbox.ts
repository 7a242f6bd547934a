/** Webhooks on the wire: what a delivery is answered, and what the inbox shows of it later. */
import { z } from 'zod'
import { inboxDecisions, inboxStates, runIdsOf, type InboxEntry } from '../domain/inbox.ts'
import { listOf, maybeTime, paging, time, timeView } from './answers.ts'
import { fromQuery, id, line, positive, repo } from './fields.ts'

const decision = z
  .enum(inboxDecisions)
  .describe('`accepted`, `ignored` for `reason`, or `duplicate` of an event known before.')
const reason = z.string().nullable().describe('Why it was ignored, or is a duplicate.')
const runIds = z.array(z.string()).describe('The runs it led to, or met.')

export const webhookAnswer = z
  .strictObject({
    inbox_id: z.string().describe('Ask what became of it with `GET /v1/inbox/{id}`.'),
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
  decision: z.enum(inboxDecisions).optional().describe('Only what was decided like this.'),
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
  id: z.string().describe('Our own id of the webhook.'),
  webhook_id: z.string().describe("GitHub's GUID of the delivery."),
  event: z.string().describe("GitHub's name of the event."),
  action: z.string().nullable().describe('What happened, where the event says so.'),
  repo: z.string().nullable().describe('`owner/name` in lower case, as the event had it.'),
  number: z.int().nullable().describe('Of the pull request or issue.'),
  sender: z.string().nullable().describe('Who caused it; null for an account that is gone.'),
  state: z
    .enum(inboxStates)
    .describe('`waiting` until it is processed; `failed` when a rule of a run type broke on it.'),
  decision,
  reason,
  run_ids: runIds,
  outcomes: z.array(outcome).describe('What it meant for each run type that listens to it.'),
  duplicate_of: z.string().nullable().describe('The entry that brought this event first.'),
  event_at: time.nullable().describe('When it happened, by the clock of GitHub.'),
  received_at: time.describe('When it was committed here.'),
  processed_at: time.nullable().describe('When what it led to was done.'),
  next_try_at: time.nullable().describe('When a waiting entry is looked at again, at the latest.'),
  tries: z.int().describe('How often it could not be decided yet.'),
  last_error: z.string().nullable().describe('Why not, the last time.'),
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
