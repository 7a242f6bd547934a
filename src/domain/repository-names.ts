/**
 * Decides what to store when a repository was seen under a name. A name can go to another
 * repository, and events arrive late and twice. So GitHub's time counts, not the time of arrival.
 */

/**
 * When GitHub used the name: the time of the event, or `now` for an answer that GitHub just gave.
 * Null when unknown: then nothing is stored that contradicts what is known.
 */
export type HeardAt = number | 'now' | null

/**
 * A sandbox gives such an id to a repository whose id nobody has sent. It is higher than every id
 * of GitHub, so an id from a webhook never means another repository.
 */
export const sandboxIdsFrom = 1e14
export const isSandboxId = (githubId: number): boolean => githubId >= sandboxIdsFrom

/** The repository that has the name, as far as we know. */
export interface NameHolder {
  readonly githubId: number | null
  readonly heardAt: number | null
}

/** The name of the repository, as far as we know. */
export interface OwnName {
  readonly name: string
  readonly namedAt: number | null
}

/**
 * What GitHub has said about a name and an id that a caller sent together. `known`: the repository
 * has the name, or had it once. `open`: GitHub has not said which repository has the name.
 * `anothers`: GitHub said that another repository has it.
 */
export type NameKnowledge = 'known' | 'open' | { readonly anothers: number }

/**
 * `current`: this is the repository's name now. `alias`: the name leads to the repository, which
 * may have another name. `nothing`: what we know is newer.
 */
export type NameUpdate = 'current' | 'alias' | 'nothing'

export function learnName(
  { name, githubId, at }: { name: string; githubId: number; at: HeardAt },
  holder: NameHolder | null,
  own: OwnName | null,
): NameUpdate {
  if (at === 'now') return 'current'
  const belongsToOther = holder !== null && holder.githubId !== null && holder.githubId !== githubId
  if (at === null) {
    if (belongsToOther) return 'nothing'
    return own === null || own.name === name ? 'current' : 'alias'
  }
  if (own !== null && own.namedAt !== null && at < own.namedAt) return 'nothing'
  if (!belongsToOther || holder.heardAt === null || at > holder.heardAt) return 'current'
  // GitHub's times are whole seconds. In the same second, a repository without a name came later.
  return own === null && at === holder.heardAt ? 'current' : 'nothing'
}
