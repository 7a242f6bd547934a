/** Table `subject`: the rows every claim locks first. */
import type { Subject } from '../../domain/subject.ts'
import type { Sql, Verb } from '../sql.ts'
import { InsertRows, join, padded, sql } from '../sql.ts'
import { LostRace } from '../driver.ts'
import { table } from './table.ts'

const subject = table<Subject>(
  'subject',
  [
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
  ],
  // Its name stays, too, so the index over names is not written again.
  { keyFields: 4 },
)

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
  if (sorted.length === 0) return new Map()
  const found = yield* subject.read(
    new InsertRows(
      { table: 'subject', columns: ['id', 'type', 'scope', 'name', 'created_at', 'touched_at'] },
      sorted.map(({ type, scope, name }) => [newId(), type, scope, name, now, now]),
      sql`ON CONFLICT (scope, name, type) DO UPDATE SET touched_at = excluded.touched_at
        RETURNING ${subject.columns}`,
    ),
  )
  return new Map(found.map((item) => [subjectKey(item), item]))
}

/** Locks one subject by id. If its row is gone, the race is lost. */
export function* lockSubject(id: string, now: number): Verb<Subject> {
  const [locked] = yield* subject.read(sql`UPDATE subject SET touched_at = ${now} WHERE id = ${id}
    RETURNING ${subject.columns}`)
  if (locked === undefined) throw new LostRace('the subject is gone')
  return locked
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
  const [locked] =
    yield* subject.read(sql`UPDATE subject SET touched_at = ${now} WHERE scope = ${of.scope}
    AND name = ${of.name} AND type = ${of.type} RETURNING ${subject.columns}`)
  return locked ?? null
}

export function* selectSubjects(where: Sql): Verb<Subject[]> {
  return yield* subject.read(sql`SELECT ${subject.columns} FROM subject WHERE ${where}`)
}

export function* selectSubject(id: string): Verb<Subject | null> {
  const [found] = yield* selectSubjects(sql`id = ${id}`)
  return found ?? null
}

/** Moves a subject to another repository. Only for one that this transaction has locked. */
export function* setScope(id: string, scope: string): Verb<void> {
  yield sql`UPDATE subject SET scope = ${scope} WHERE id = ${id}`
}

/** Everything but their names. Only for subjects this transaction has locked. */
export function* writeSubjects(subjects: readonly Subject[]): Verb<void> {
  if (subjects.length === 0) return
  yield subject.insert(subjects, sql`ON CONFLICT (id) DO UPDATE SET ${subject.overwrite}`)
}
