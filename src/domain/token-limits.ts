/**
 * What a token may be limited to: repositories and run types. Null means no limit.
 *
 * What must hold: a limit to one repository follows that repository through renames, not its name,
 * which another repository may get. A pattern is compared with the present name. A token that is
 * limited to repositories reaches nothing that belongs to no repository.
 */

export interface RepositoryLimit {
  /** `owner/name`, or a start of names that ends in `*`, such as `acme/*`; in lower case. */
  readonly pattern: string
  /** Our own id of the one repository; null for a start of names. */
  readonly repositoryId: string | null
}

export interface TokenLimits {
  readonly repositories: readonly RepositoryLimit[] | null
  readonly types: readonly string[] | null
}

/** The repository of something: our own id and its present name. */
export interface RepositoryPlace {
  /** Null for a repository that this store does not know. */
  readonly id: string | null
  readonly name: string
}

export const repositoryPattern = /^[a-z0-9][a-z0-9-]*\/(?:\*|[a-z0-9_.-]+\*?)$/

export const isNameStart = (pattern: string): boolean => pattern.endsWith('*')

export const startOfNames = (pattern: string): string => pattern.slice(0, -1)

export function reachesType({ types }: TokenLimits, type: string): boolean {
  return types === null || types.includes(type)
}

/** `place` is null for what belongs to no repository. */
export function reachesRepository(
  { repositories }: TokenLimits,
  place: RepositoryPlace | null,
): boolean {
  if (repositories === null) return true
  if (place === null) return false
  return repositories.some(({ pattern, repositoryId }) =>
    isNameStart(pattern)
      ? place.name.startsWith(startOfNames(pattern))
      : repositoryId !== null && repositoryId === place.id,
  )
}

/** `the repositories acme/*, acme/app and the type review` */
export function limitWords({ repositories, types }: TokenLimits): string {
  const patterns = repositories?.map(({ pattern }) => pattern) ?? null
  const named = [listed(patterns, 'repository', 'repositories'), listed(types, 'type', 'types')]
  return named.filter((part) => part !== null).join(' and ')
}

function listed(items: readonly string[] | null, one: string, more: string): string | null {
  if (items === null) return null
  return `the ${items.length === 1 ? one : more} ${items.join(', ')}`
}
