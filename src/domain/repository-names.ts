/**
 * What it means that a repository was called by a name at a time. Names change hands, and what
 * tells of them comes late and twice; so it is GitHub's time that counts, not the arrival.
 */

/**
 * When GitHub used the name: the time of the event; `now` for an answer that GitHub just gave; null
 * where nobody knows, and then nothing is learnt that contradicts what is known.
 */
export type HeardAt = number | 'now' | null

/** Who has the name, as far as is known. */
export interface NameHolder {
  readonly githubId: number | null
  readonly heardAt: number | null
}

/** The name that the repository has, as far as is known. */
export interface OwnName {
  readonly name: string
  readonly namedAt: number | null
}

/**
 * What is known of a name and an id that a caller brings together. `known`: the name means that id,
 * or meant it once. `open`: GitHub has not said whose the name is. Else GitHub said that it is
 * another's.
 */
export type NameKnowledge = 'known' | 'open' | { readonly anothers: number }

/**
 * `current`: the repository is called so now. `alias`: the name means it, and it may have another.
 * `nothing`: what is known is newer.
 */
export type NameLesson = 'current' | 'alias' | 'nothing'

export function learnName(
  { name, githubId, at }: { name: string; githubId: number; at: HeardAt },
  holder: NameHolder | null,
  own: OwnName | null,
): NameLesson {
  if (at === 'now') return 'current'
  const belongsToOther = holder !== null && holder.githubId !== null && holder.githubId !== githubId
  if (at === null) {
    if (belongsToOther) return 'nothing'
    return own === null || own.name === name ? 'current' : 'alias'
  }
  if (own !== null && own.namedAt !== null && at < own.namedAt) return 'nothing'
  if (!belongsToOther || holder.heardAt === null || at > holder.heardAt) return 'current'
  // GitHub's times are seconds: in one and the same, whoever has no other name comes later.
  return own === null && at === holder.heardAt ? 'current' : 'nothing'
}
