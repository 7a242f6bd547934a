/** What publishers share: the keys markers are signed with, and the accounts that were ours. */
import { subjectKeptMs } from '../../domain/subject.ts'
import type { Author, MarkerKey } from '../../outbox-store.ts'
import type { Verb } from '../sql.ts'
import { sql } from '../sql.ts'
import type { VerbContext } from './context.ts'
import { lockState, readState } from './state.ts'

/** Newest first: it signs, all of them verify. */
export function* markerKeys(): Verb<MarkerKey[]> {
  const rows = yield sql`SELECT id, secret FROM marker_key ORDER BY created_at DESC, id DESC`
  return rows.map((row) => ({ id: row['id'] as string, secret: row['secret'] as string }))
}

/** Several processes may start at once: the first row stands, and all sign with it. */
export function* ensureMarkerKey(context: VerbContext): Verb<MarkerKey[]> {
  const key = context.newMarkerKey()
  yield* lockState('marker_keys', 'made')
  yield sql`INSERT INTO marker_key (id, secret, created_at)
    SELECT ${key.id}, ${key.secret}, ${context.now()}
    WHERE NOT EXISTS (SELECT 1 FROM marker_key) ON CONFLICT (id) DO NOTHING`
  return yield* markerKeys()
}

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

/** A thread from before may carry a comment that was made before our time, or that we forgot. */
export function* knowsSince(now: number): Verb<number> {
  const first = Number((yield* readState('first_started_at')) ?? Infinity)
  const restored = Number((yield* readState('restored_at')) ?? 0)
  return Math.max(first, restored, now - subjectKeptMs)
}
