/**
 * Table `past_round`: the last round of keys whose run was purged. What a round publishes is
 * identified by its number, so a later round must not reuse the number of an earlier one.
 */
import type { Sql, Verb } from '../sql.ts'
import { inPieces, padded, sql, tuples } from '../sql.ts'

export interface RoundKey {
  readonly subjectId: string
  readonly pair: string
}

export interface PastRound extends RoundKey {
  readonly round: number
}

/** The known ones, by `subject pair`. Call it after the runs were read. */
export function* pastRounds(keys: readonly RoundKey[]): Verb<ReadonlyMap<string, number>> {
  if (keys.length === 0) return new Map()
  const wanted = tuples(padded(keys).map(({ subjectId, pair }) => [subjectId, pair]))
  const rows = yield sql`SELECT subject_id, pair, round FROM past_round
    WHERE (subject_id, pair) IN (VALUES ${wanted})`
  return new Map(
    rows.map((row) => {
      const key = { subjectId: row['subject_id'] as string, pair: row['pair'] as string }
      return [roundKey(key), Number(row['round'])]
    }),
  )
}

export const roundKey = ({ subjectId, pair }: RoundKey): string => `${subjectId} ${pair}`

/** One row for each key. */
export function* keepRounds(rounds: readonly PastRound[], now: number): Verb<void> {
  for (const piece of inPieces(rounds)) {
    const rows = tuples(piece.map(({ subjectId, pair, round }) => [subjectId, pair, round, now]))
    yield sql`INSERT INTO past_round (subject_id, pair, round, at) VALUES ${rows} ${orGreater}`
  }
}

/** Two subjects have become one. */
export function* reassignRounds(fromSubject: string, intoSubject: string): Verb<void> {
  yield sql`INSERT INTO past_round (subject_id, pair, round, at)
    SELECT ${intoSubject}, pair, round, at FROM past_round WHERE subject_id = ${fromSubject}
    ${orGreater}`
  yield sql`DELETE FROM past_round WHERE subject_id = ${fromSubject}`
}

const orGreater: Sql = sql`ON CONFLICT (subject_id, pair) DO UPDATE SET at = excluded.at,
  round = CASE WHEN excluded.round > past_round.round THEN excluded.round
    ELSE past_round.round END`
