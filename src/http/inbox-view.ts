/** An inbox entry as the wire shows it. */
import type { z } from 'zod'
import { runIdsOf, type InboxEntry } from '../domain/inbox.ts'
import { NotFoundError } from '../errors.ts'
import { parsePayload, unpackBody } from '../intake/parse-payload.ts'
import type { StorePart } from '../store.ts'
import type { inboxEntry, inboxEntryWithBody } from './contract.ts'
import { timeView } from './run-view.ts'

export function inboxView(entry: InboxEntry): z.infer<typeof inboxEntry> {
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
    event_at: instant(entry.eventAt),
    received_at: timeView(entry.receivedAt),
    processed_at: instant(entry.processedAt),
    next_try_at: instant(entry.dueAt),
    tries: entry.tries,
    last_error: entry.lastError,
  }
}

/** One entry with its headers and payload, as GitHub sent them; by its id or GUID. */
export async function inboxEntryOf(
  store: StorePart<{ inbox: 'get' | 'body' }>,
  id: string,
): Promise<z.infer<typeof inboxEntryWithBody>> {
  const entry = await store.inbox.get(id)
  const stored = entry === null ? null : await store.inbox.body(entry.arrival)
  if (entry === null || stored === null) {
    throw new NotFoundError('inbox_entry_not_found', `there is no inbox entry ${id}`, {
      hint: 'It may be past its retention. List what there is with GET /v1/inbox.',
    })
  }
  return {
    ...inboxView(entry),
    headers: JSON.parse(stored.headers) as Record<string, string>,
    payload: parsePayload(unpackBody(stored.body)),
  }
}

const instant = (at: number | null): string | null => (at === null ? null : timeView(at))
