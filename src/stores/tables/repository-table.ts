/**
 * Tables `repository` and `repository_name`: one row per repository, and every name it ever had, so
 * that a renamed repository and a claim by name alone are one repository.
 */
import type { QuietRepositories, UsedRepositories } from '../../store/catch-up-store.ts'
import { LostRace } from '../driver.ts'
import type { Sql, Verb } from '../sql.ts'
import { join, padded, raw, sql, tuples } from '../sql.ts'

export interface Repository {
  readonly id: string
  readonly githubId: number | null
  readonly name: string
  /** When GitHub last used that name for it. */
  readonly namedAt: number | null
}

const useNotedEveryMs = 5 * 60_000

/** Answers the id for each name and creates missing rows. Takes no lock when all are known. */
export function* resolveRepositories(
  names: readonly string[],
  newId: () => string,
  now: number,
): Verb<Map<string, string>> {
  const known = yield* selectNames(names)
  const missing = [...new Set(names)].filter((name) => !known.has(name)).toSorted()
  if (missing.length === 0) return known
  const candidates = missing.map((name) => [name, newId()] as const)
  const made = yield sql`INSERT INTO repository_name (name, repository_id)
    VALUES ${tuples(candidates)} ON CONFLICT (name) DO NOTHING RETURNING name, repository_id`
  const rows = made.map((row) => [row['repository_id'] as string, null, row['name'] as string, now])
  if (rows.length > 0) {
    yield sql`INSERT INTO repository (id, github_id, name, created_at) VALUES ${tuples(rows)}`
  }
  // Another transaction may have made some of them between our two statements.
  const knownNow = yield* selectNames(missing)
  return new Map([...known, ...knownNow])
}

/**
 * For new subjects: if a name leads to another repository by now, the race is lost. A rename that
 * is under way waits for us. (An existing subject is locked, so a rename waits for it anyway.)
 */
export function* checkRepositories(
  resolved: ReadonlyMap<string, string>,
  keepUnchanged: Sql,
): Verb<void> {
  const names = yield* selectNames([...resolved.keys()], keepUnchanged)
  for (const [name, id] of resolved) {
    if (names.get(name) !== id) throw new LostRace('a repository was renamed meanwhile')
  }
}

function* selectNames(
  names: readonly string[],
  keepUnchanged: Sql = raw(''),
): Verb<Map<string, string>> {
  if (names.length === 0) return new Map()
  const rows = yield sql`SELECT name, repository_id FROM repository_name
    WHERE name IN (${join(padded([...new Set(names)]))}) ${keepUnchanged}`
  return new Map(rows.map((row) => [row['name'] as string, row['repository_id'] as string]))
}

export function* repositoryById(id: string): Verb<Repository | null> {
  const [row] = yield sql`SELECT id, github_id, name, named_at FROM repository WHERE id = ${id}`
  return row === undefined ? null : decode(row)
}

export function* repositoryByName(name: string): Verb<Repository | null> {
  const [row] = yield sql`SELECT id, github_id, name, named_at FROM repository
    WHERE id = (SELECT repository_id FROM repository_name WHERE name = ${name})`
  return row === undefined ? null : decode(row)
}

/** Our ids for GitHub's ids; unknown ones are left out. */
export function* repositoryIds(githubIds: readonly number[]): Verb<Map<number, string>> {
  if (githubIds.length === 0) return new Map()
  const rows = yield sql`SELECT github_id, id FROM repository
    WHERE github_id IN (${join(padded([...new Set(githubIds)]))})`
  return new Map(rows.map((row) => [Number(row['github_id']), row['id'] as string]))
}

/** By our own ids; one that is gone is left out. */
export function* repositoryNames(ids: readonly string[]): Verb<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = yield sql`SELECT id, name FROM repository
    WHERE id IN (${join(padded([...new Set(ids)]))})`
  return new Map(rows.map((row) => [row['id'] as string, row['name'] as string]))
}

/** Only repositories with a GitHub id: those known by name alone send us no events. */
export function* repositoriesInUse(since: number, limit: number): Verb<UsedRepositories> {
  const rows = yield sql`SELECT name, github_id, count(*) OVER () AS total FROM repository
    WHERE github_id IS NOT NULL AND used_at >= ${since}
    ORDER BY coalesce(looked_at, 0), used_at DESC, name LIMIT ${limit}`
  const items = rows.map((row) => ({
    name: row['name'] as string,
    githubId: Number(row['github_id']),
  }))
  return { items, left: Number(rows[0]?.['total'] ?? 0) - items.length }
}

/** A quiet repository is checked at most this often. */
const quietEveryMs = 60 * 60_000
/** How many of the remaining ones are named. */
const namedMax = 3

/**
 * In the order of last use, which does not change while they are quiet. `after`: a place in that
 * order.
 */
export function* quietRepositories(
  since: number,
  after: string,
  limit: number,
  now: number,
): Verb<QuietRepositories> {
  const { usedAt, id } = readPlace(after)
  const rows = yield sql`SELECT name, github_id, used_at, id FROM repository
    WHERE github_id IS NOT NULL AND used_at < ${since} AND used_at >= ${usedAt}
      AND (used_at > ${usedAt} OR id > ${id}) AND coalesce(looked_at, 0) <= ${now - quietEveryMs}
    ORDER BY used_at, id LIMIT ${limit + namedMax}`
  const found = rows.map((row) => ({
    name: row['name'] as string,
    githubId: Number(row['github_id']),
    usedAt: Number(row['used_at']),
    place: `${Number(row['used_at'])} ${row['id'] as string}`,
  }))
  return { items: found.slice(0, limit), next: found.slice(limit).map(({ name }) => name) }
}

function readPlace(place: string): { readonly usedAt: number; readonly id: string } {
  const [usedAt = '', id = ''] = place.split(' ')
  return { usedAt: Number(usedAt), id }
}

/** Stored at most every few minutes, so most calls write nothing. */
export function* noteUse(ids: readonly string[], now: number): Verb<void> {
  if (ids.length === 0) return
  yield sql`UPDATE repository SET used_at = ${now} WHERE id IN (${join(padded(ids))})
    AND (used_at IS NULL OR used_at < ${now - useNotedEveryMs} OR used_at > ${now})`
}

export function* noteLooked(githubId: number, now: number): Verb<void> {
  yield sql`UPDATE repository SET looked_at = ${now} WHERE github_id = ${githubId}`
}

/**
 * After the clock was set back: a check time in the future would put the repository last until
 * then.
 */
export function* limitLookTimes(now: number): Verb<void> {
  yield sql`UPDATE repository SET looked_at = ${now} WHERE looked_at > ${now}`
}

/** The same for the times of names: everything that GitHub says from now on would seem older. */
export function* limitNameTimes(now: number): Verb<void> {
  yield sql`UPDATE repository SET named_at = ${now} WHERE named_at > ${now}`
  yield sql`UPDATE repository_name SET heard_at = ${now} WHERE heard_at > ${now}`
}

export function* repositoryByGithubId(githubId: number): Verb<Repository | null> {
  const [row] = yield sql`SELECT id, github_id, name, named_at FROM repository
    WHERE github_id = ${githubId}`
  return row === undefined ? null : decode(row)
}

/**
 * Locks the name until our commit. Returns when GitHub last used it; null if the name is unknown.
 */
export function* lockName(name: string): Verb<{ readonly heardAt: number | null } | null> {
  const [row] = yield sql`UPDATE repository_name SET heard_at = heard_at WHERE name = ${name}
    RETURNING heard_at`
  return row === undefined ? null : { heardAt: numberOrNull(row['heard_at']) }
}

export function* lockRepository(githubId: number): Verb<Repository | null> {
  const [row] = yield sql`UPDATE repository SET named_at = named_at
    WHERE github_id = ${githubId} RETURNING id, github_id, name, named_at`
  return row === undefined ? null : decode(row)
}

/**
 * Locks the repository. Other transactions that lock it wait for our commit and then read what we
 * wrote.
 */
export function* holdRepository(id: string): Verb<void> {
  yield sql`UPDATE repository SET named_at = named_at WHERE id = ${id}`
}

export function* insertRepository(
  { id, githubId, name, namedAt }: Repository,
  now: number,
): Verb<void> {
  yield sql`INSERT INTO repository (id, github_id, name, created_at, named_at)
    VALUES ${tuples([[id, githubId, name, now, namedAt]])}`
}

export function* fillInGithubId(id: string, githubId: number): Verb<void> {
  yield sql`UPDATE repository SET github_id = ${githubId} WHERE id = ${id}`
}

/**
 * Without a holder the name must be new. If another transaction created it meanwhile, the insert
 * fails and the verb runs again.
 */
export function* giveName(
  name: string,
  id: string,
  heardAt: number | null,
  holder: Repository | null,
): Verb<void> {
  if (holder === null) {
    yield sql`INSERT INTO repository_name (name, repository_id, heard_at)
      VALUES ${tuples([[name, id, heardAt]])}`
  } else {
    yield sql`UPDATE repository_name SET repository_id = ${id}, heard_at = ${heardAt}
      WHERE name = ${name}`
  }
}

export function* setName(id: string, name: string, namedAt: number | null): Verb<void> {
  yield sql`UPDATE repository SET name = ${name}, named_at = ${namedAt} WHERE id = ${id}`
}

/** Only a caller used this name. GitHub is asked before anything is written there. */
export function* noteUnverifiedName(id: string, name: string): Verb<void> {
  yield sql`INSERT INTO told_name (repository_id, name) VALUES ${tuples([[id, name]])}
    ON CONFLICT (repository_id, name) DO NOTHING`
}

export function* isUnverifiedName(id: string, name: string): Verb<boolean> {
  const rows = yield sql`SELECT 1 AS found FROM told_name
    WHERE repository_id = ${id} AND name = ${name}`
  return rows.length > 0
}

export function* hasRunsNamed(id: string, name: string): Verb<boolean> {
  const rows = yield sql`SELECT 1 AS found FROM run WHERE scope = ${id} AND repo = ${name} LIMIT 1`
  return rows.length > 0
}

/** GitHub used this name too, so it is no longer unverified. */
export function* verifyName(id: string, name: string): Verb<void> {
  yield sql`DELETE FROM told_name WHERE repository_id = ${id} AND name = ${name}`
}

/** By run: the name it was claimed under, if that name is unverified. */
export function* unverifiedNamesOf(runIds: readonly string[]): Verb<Map<string, string>> {
  const rows = yield sql`SELECT run.id, told_name.name FROM run
    JOIN told_name ON told_name.repository_id = run.scope AND told_name.name = run.repo
    WHERE run.id IN (${join(padded([...new Set(runIds)]))})`
  return new Map(rows.map((row) => [row['id'] as string, row['name'] as string]))
}

/** The row stays, because published markers contain its id. */
export function* noteMerged(fromId: string, intoId: string): Verb<void> {
  yield sql`UPDATE repository SET merged_into = ${intoId} WHERE id = ${fromId}`
}

function decode(row: Readonly<Record<string, unknown>>): Repository {
  return {
    id: row['id'] as string,
    githubId: row['github_id'] as number | null,
    name: row['name'] as string,
    namedAt: numberOrNull(row['named_at']),
  }
}

function numberOrNull(value: unknown): number | null {
  return value == null ? null : Number(value)
}

/** SQL for the repository that has a name now, or the one with GitHub's id. */
export function repositoryOfName(repo: string, repoId: number | null = null): Sql {
  const named = sql`(SELECT repository_id FROM repository_name WHERE name = ${repo})`
  if (repoId === null) return named
  return sql`coalesce((SELECT id FROM repository WHERE github_id = ${repoId}), ${named})`
}
