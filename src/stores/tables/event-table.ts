/** Table `subject_event`: the webhooks that were already decided for a subject. */
import type { Verb } from '../sql.ts'
import { InsertRows, padded, raw, sql, tuples } from '../sql.ts'

interface SubjectEvent {
  readonly subjectId: string
  readonly webhookId: string
}

/** Answers the seen ones as `subject webhook`. */
export function* seenEvents(events: readonly SubjectEvent[]): Verb<Set<string>> {
  if (events.length === 0) return new Set()
  const pairs = tuples(padded(events).map(({ subjectId, webhookId }) => [subjectId, webhookId]))
  const rows = yield sql`SELECT subject_id, webhook_id FROM subject_event
    WHERE (subject_id, webhook_id) IN (VALUES ${pairs})`
  return new Set(rows.map((row) => `${row['subject_id'] as string} ${row['webhook_id'] as string}`))
}

export function* insertEvents(events: readonly SubjectEvent[], now: number): Verb<void> {
  if (events.length === 0) return
  yield new InsertRows(
    { table: 'subject_event', columns: ['subject_id', 'webhook_id', 'at'] },
    events.map(({ subjectId, webhookId }) => [subjectId, webhookId, now]),
    raw('ON CONFLICT (subject_id, webhook_id) DO NOTHING'),
  )
}
