/** Makes a webhook wait: it could not be decided now, or a person asked for a replay. */
import type { InboxEntry } from '../../../domain/inbox.ts'
import { NotFoundError } from '../../../errors.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { insertAudit, webhookCauses } from '../../tables/audit-table.ts'
import { selectEntry, writeEntries } from '../../tables/inbox-table.ts'
import type { VerbContext } from '../context.ts'

/** Does nothing when the entry is no longer waiting. */
export function* postponeWebhook(
  context: VerbContext,
  entryId: string,
  dueAt: number,
  why: string,
): Verb<void> {
  const entry = yield* lockEntry(entryId)
  if (entry?.state !== 'waiting') return
  const tries = entry.tries + 1
  yield* writeEntries([{ ...entry, dueAt, tries, lastError: why }])
  const data = { webhook_id: entry.webhookId, why, tries, due_at: new Date(dueAt).toISOString() }
  const causeId = (yield* webhookCauses([entryId])).get(entryId)?.newestId ?? null
  yield* insertAudit(
    { type: 'webhook.postponed', actor: 'intake', runId: null, inboxId: entryId, data },
    causeId,
    context.now(),
  )
}

/** It is decided again from its stored body, by today's rules. */
export function* replayWebhook(
  context: VerbContext,
  entryId: string,
  actor: string,
): Verb<InboxEntry> {
  const known = yield* selectEntry(entryId)
  // A repeat was never processed itself; the first entry of its event was.
  const entry = known === null ? null : yield* lockFirst(known)
  if (entry === null) {
    throw new NotFoundError('inbox_entry_not_found', `there is no inbox entry ${entryId}`, {
      hint: 'It may be past its retention. List what there is with GET /v1/inbox.',
    })
  }
  const now = context.now()
  const again: InboxEntry = {
    ...entry,
    state: 'waiting',
    decision: 'accepted',
    reason: null,
    processedAt: null,
    dueAt: now,
    tries: 0,
    lastError: null,
  }
  yield* writeEntries([again])
  const data = { webhook_id: entry.webhookId, was: entry.state, decision: entry.decision }
  yield* insertAudit(
    { type: 'operator.replay_requested', actor, runId: null, inboxId: entry.id, data },
    null,
    now,
  )
  return again
}

function* lockFirst({ id, duplicateOf }: InboxEntry): Verb<InboxEntry | null> {
  const first = duplicateOf === null ? null : yield* lockEntry(duplicateOf)
  return first ?? (yield* lockEntry(id))
}

/** Locks by a write that changes nothing: both databases lock a written row. */
function* lockEntry(id: string): Verb<InboxEntry | null> {
  yield sql`UPDATE inbox SET tries = tries WHERE id = ${id}`
  return yield* selectEntry(id)
}
