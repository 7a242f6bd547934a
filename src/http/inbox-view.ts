/** An inbox entry as the wire shows it. */
import type { z } from 'zod'
import { runIdsOf, type InboxEntry } from '../domain/inbox.ts'
import type { inboxEntry } from './contract.ts'
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

const instant = (at: number | null): string | null => (at === null ? null : timeView(at))
