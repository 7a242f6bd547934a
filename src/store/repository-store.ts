/**
 * Port: repositories, known by GitHub's id and by every name they were seen under. What is older
 * than what is known changes nothing.
 */
import type { HeardAt, NameKnowledge } from '../domain/repository-names.ts'

export interface RepositoryStore {
  /**
   * GitHub's numeric id for a repository's name, and when GitHub used the two together: what is
   * older than what is known changes nothing. `actor`: who says so.
   */
  learn(name: string, githubId: number, at: HeardAt, actor: string): Promise<void>
  /**
   * The same by a caller's word, which may be wrong. `known`: it is so, or it was learnt, and until
   * GitHub says so too, whoever writes there asks first (`toldName`). Otherwise nothing was learnt,
   * because it would change what GitHub said, or what is claimed by the name alone.
   */
  learnUnverified(
    name: string,
    githubId: number,
    at: number | null,
    actor: string,
  ): Promise<NameKnowledge>
  /** What GitHub has said of the two; changes nothing. */
  nameKnowledge(name: string, githubId: number): Promise<NameKnowledge>
  /** As last heard, by our own id; one query. */
  names(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** By our own id; null when this store has none. */
  get(id: string): Promise<KnownRepository | null>
  /** What a name means now; null when this store has never heard of it. */
  named(name: string): Promise<KnownRepository | null>
}

export interface KnownRepository {
  /** Our own. */
  readonly id: string
  /** As last heard. */
  readonly name: string
  /** Null until an event or an answer of GitHub named it. */
  readonly githubId: number | null
}
