/**
 * What all publishers share: the accounts that are or were ours, and since when the store knows.
 */
import { subjectKeptMs } from '../../../domain/subject.ts'
import type { Author } from '../../../store/outbox-store.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import type { VerbContext } from '../context.ts'
import { readState } from '../../tables/state-table.ts'

export function* authors(): Verb<Author[]> {
  const rows = yield sql`SELECT kind, github_id FROM author ORDER BY kind, github_id`
  return rows.map((row) => ({
    kind: row['kind'] as Author['kind'],
    githubId: Number(row['github_id']),
  }))
}

export function* learnAuthor(context: VerbContext, author: Author): Verb<void> {
  yield sql`INSERT INTO author (kind, github_id, first_seen_at)
    VALUES (${author.kind}, ${author.githubId}, ${context.now()})
    ON CONFLICT (kind, github_id) DO NOTHING`
}

/** An older thread may have a comment of ours that this store never knew or has forgotten. */
export function* knowsSince(now: number): Verb<number> {
  const first = Number((yield* readState('first_started_at')) ?? Infinity)
  const restored = Number((yield* readState('restored_at')) ?? 0)
  return Math.max(first, restored, now - subjectKeptMs)
}
