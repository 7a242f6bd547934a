/**
 * What a token may be limited to: repositories and run types. Null means no limit.
 *
 * What must hold: a limit to one repository follows that repository, whatever it is called later,
 * and not its name, which somebody else may be given. A pattern goes by the name a repository has
 * now. What belongs to no repository is out of reach of a token that is limited to some.
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

/** Where something belongs: our id of its repository and the name that one has now. */
export interface RepositoryPlace {
  /** Null for a repository that this store has never heard of. */
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
