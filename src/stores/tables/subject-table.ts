/** Table `subject`: the rows every claim locks first. */
import type { Subject } from '../../domain/subject.ts'
import type { Sql, Verb } from '../sql.ts'
import { inPieces, join, padded, sql, tuples } from '../sql.ts'
import { LostRace } from '../driver.ts'
import { table } from './table.ts'

const subject = table<Subject>([
  'id',
  'type',
  'scope',
  'name',
  'currentRunId',
  'currentPair',
  'currentEnded',
  'headSha',
  'headBefore',
  'headAt',
  'floorAt',
  'finishedRunId',
  'finishedHeadSha',
  'finishedVerdict',
  'threadCreatedAt',
  'createdAt',
  'touchedAt',
])

export interface SubjectName {
  readonly type: string
  readonly scope: string
  readonly name: string
}

export const subjectKey = (name: SubjectName): string => `${name.scope} ${name.type} ${name.name}`

/**
 * Creates and locks the named subjects, sorted, so that two batches cannot wait for each other.
 * Answers the values after the lock; everything else must be read in later statements.
 */
export function* lockSubjects(
  names: readonly SubjectName[],
  newId: () => string,
  now: number,
): Verb<Map<string, Subject>> {
  const sorted = names.toSorted((a, b) => (subjectKey(a) < subjectKey(b) ? -1 : 1))
  const rows = sorted.map(({ type, scope, name }) => [newId(), type, scope, name, now, now])
  const found: Subject[] = []
  for (const piece of inPieces(rows)) {
    const locked = yield sql`INSERT INTO subject (id, type, scope, name, created_at, touched_at)
      VALUES ${tuples(piece)}
      ON CONFLICT (scope, name, type) DO UPDATE SET touched_at = excluded.touched_at
      RETURNING ${subject.columns}`
    found.push(...locked.map((row) => subject.decode(row)))
  }
  return new Map(found.map((item) => [subjectKey(item), item]))
}

/** Locks one subject by id. If its row is gone, the race is lost. */
export function* lockSubject(id: string, now: number): Verb<Subject> {
  const [row] = yield sql`UPDATE subject SET touched_at = ${now} WHERE id = ${id}
    RETURNING ${subject.columns}`
  if (row === undefined) throw new LostRace('the subject is gone')
  return subject.decode(row)
}

/**
 * Locks those of these subjects that exist, by id, in the order of `lockSubjects`. Answers the
 * values after the lock.
 */
export function* lockSubjectsById(
  ids: readonly string[],
  keepForUpdate: Sql,
): Verb<Map<string, Subject>> {
  if (ids.length === 0) return new Map()
  const found = yield* selectSubjects(sql`id IN (${join(padded([...new Set(ids)]))})
    ORDER BY scope, type, name ${keepForUpdate}`)
  return new Map(found.map((item) => [item.id, item]))
}

/** The same by name; null when there is none. Creates nothing. */
export function* lockSubjectByName(of: SubjectName, now: number): Verb<Subject | null> {
  const [row] = yield sql`UPDATE subject SET touched_at = ${now} WHERE scope = ${of.scope}
    AND name = ${of.name} AND type = ${of.type} RETURNING ${subject.columns}`
  return row === undefined ? null : subject.decode(row)
}

export function* selectSubjects(where: Sql): Verb<Subject[]> {
  const rows = yield sql`SELECT ${subject.columns} FROM subject WHERE ${where}`
  return rows.map((row) => subject.decode(row))
}

export function* selectSubject(id: string): Verb<Subject | null> {
  const [found] = yield* selectSubjects(sql`id = ${id}`)
  return found ?? null
}

/** Only for subjects this transaction has locked. */
export function* writeSubjects(subjects: readonly Subject[]): Verb<void> {
  for (const piece of inPieces(subjects)) {
    const rows = tuples(piece.map((item) => subject.encode(item)))
    yield sql`INSERT INTO subject (${subject.columns}) VALUES ${rows}
      ON CONFLICT (id) DO UPDATE SET ${subject.overwrite}`
  }
}
