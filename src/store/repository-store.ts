/**
 * Port: repositories, by GitHub's id and by every name they had. Old information never overwrites
 * newer information.
 */
import type { HeardAt, NameKnowledge } from '../domain/repository-names.ts'

export interface RepositoryStore {
  /**
   * Stores GitHub's id for a name. `at`: when GitHub used the two together; older information than
   * what is known changes nothing. `actor`: who says so.
   */
  learn(name: string, githubId: number, at: HeardAt, actor: string): Promise<void>
  /**
   * The same for what only a caller says, which may be wrong. `known`: GitHub said so before, or it
   * was stored as unverified, and GitHub is asked before the first write (`unverifiedName`).
   * Otherwise nothing was stored: it would contradict GitHub, or change what is claimed by the name
   * alone.
   */
  learnUnverified(
    name: string,
    githubId: number,
    at: number | null,
    actor: string,
  ): Promise<NameKnowledge>
  /** What GitHub has said about the two; changes nothing. */
  nameKnowledge(name: string, githubId: number): Promise<NameKnowledge>
  /** The last known names, by our own id; one query. */
  names(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** By our own id; null when this store has none. */
  get(id: string): Promise<KnownRepository | null>
  /** The repository that has this name now; null when this store does not know the name. */
  getByName(name: string): Promise<KnownRepository | null>
}

export interface KnownRepository {
  /** Our own id. */
  readonly id: string
  /** The last known name. */
  readonly name: string
  /** Null until GitHub named it in an event or an answer. */
  readonly githubId: number | null
}
