/** Owners rename repositories, and give a name that became free to a new repository. */
import type { SeededRandom } from '../seeded-random.ts'
import type { World, WorldRepository } from '../world.ts'
import type { ActorKind } from './actors.ts'

const repositoriesMax = 5

/** What other actors do in a repository right after its owner changed it. */
export interface RepositoryFollowers {
  open(repo: WorldRepository): void
  claim(repo: WorldRepository): void
}

export class Owners implements ActorKind {
  readonly #world: World
  readonly #random: SeededRandom
  readonly #freeNames: string[] = []
  readonly #followers: RepositoryFollowers
  #names = 0

  constructor(world: World, followers: RepositoryFollowers) {
    this.#world = world
    this.#followers = followers
    this.#random = world.random.fork()
  }

  act(): void {
    const hasFree = this.#freeNames.length > 0
    if (hasFree && this.#random.chance(60)) this.#reuseName()
    else this.#rename()
  }

  /** Mostly one with pull requests. Callers may use its new name at once. */
  #rename(): void {
    const { repositories, pulls } = this.#world
    const isUsed = this.#random.chance(70)
    const used = pulls.map(({ repo }) => repo)
    const repo = this.#random.pickFrom(isUsed ? used : repositories)
    if (repo === undefined) return
    const { name } = repo
    repo.name = `${name.replace(/-\d+$/, '')}-${(this.#names += 1)}`
    this.#freeNames.push(name)
    this.#world.countFault('repository renamed')
    this.#record(`rename ${name} to ${repo.name}`)
    this.#world.github.rename(name, repo.name)
    if (this.#random.chance(40)) this.#followers.claim(repo)
  }

  /** From now on the old name leads to another repository, with its own pull requests. */
  #reuseName(): void {
    if (this.#world.repositories.length >= repositoriesMax) return
    const name = this.#freeNames.pop()
    if (name === undefined) return
    this.#world.countFault('name reused')
    this.#record(`create a new repository ${name}`)
    const repo = this.#world.addRepository(name)
    if (this.#random.chance(70)) this.#followers.open(repo)
  }

  #record(what: string): void {
    this.#world.story.add('people', what)
  }
}
