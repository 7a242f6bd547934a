/** The verbs for repositories and their names. */
import type { HeardAt, NameKnowledge } from '../../domain/repository-names.ts'
import type * as port from '../../store.ts'
import { repositoryById, repositoryByName, repositoryNames } from '../tables/repository-table.ts'
import {
  isLearnt,
  learnRepository,
  nameKnowledge,
  type RepositoryFact,
} from '../verbs/repositories/repositories.ts'
import type { VerbRunner } from './verb-runner.ts'

export class SqlRepositories implements port.RepositoryStore {
  readonly #runner: VerbRunner

  constructor(runner: VerbRunner) {
    this.#runner = runner
  }

  async learn(name: string, githubId: number, at: HeardAt, actor: string): Promise<void> {
    await this.#learn({ name, githubId, at, actor, isUnverified: false })
  }

  learnUnverified(
    name: string,
    githubId: number,
    at: number | null,
    actor: string,
  ): Promise<NameKnowledge> {
    return this.#learn({ name, githubId, at, actor, isUnverified: true })
  }

  async #learn(fact: RepositoryFact): Promise<NameKnowledge> {
    const { context } = this.#runner
    if (await this.#runner.read(() => isLearnt(context, fact))) return 'known'
    return await this.#runner.transact(() => learnRepository(context, fact))
  }

  nameKnowledge(name: string, githubId: number): Promise<NameKnowledge> {
    return this.#runner.read(() => nameKnowledge(name, githubId))
  }

  names(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#runner.read(() => repositoryNames(ids))
  }

  get(id: string): Promise<port.KnownRepository | null> {
    return this.#runner.read(() => repositoryById(id))
  }

  getByName(name: string): Promise<port.KnownRepository | null> {
    return this.#runner.read(() => repositoryByName(name))
  }
}
