/** Owners of repositories: they rename them, and give a name that became free to a new one. */
import type { SeededRandom } from '../seeded-random.ts'
import type { World, WorldRepository } from '../world.ts'
import type { PersonKind } from './people.ts'

const repositoriesMax = 5

export class Owners implements PersonKind {
  readonly #world: World
  readonly #random: SeededRandom
  readonly #freeNames: string[] = []
  readonly #openIn: (repo: WorldRepository) => void
  #names = 0

  constructor(world: World, openIn: (repo: WorldRepository) => void) {
    this.#world = world
    this.#openIn = openIn
    this.#random = world.random.fork()
  }

  act(): void {
    const hasFree = this.#freeNames.length > 0
    if (hasFree && this.#random.chance(60)) this.#reuseName()
    else this.#rename()
  }

  #rename(): void {
    const repo = this.#random.pickFrom(this.#world.repositories)
    if (repo === undefined) return
    const { name } = repo
    repo.name = `${name.replace(/-\d+$/, '')}-${(this.#names += 1)}`
    this.#freeNames.push(name)
    this.#world.inject('repository renamed')
    this.#say(`rename ${name} to ${repo.name}`)
    this.#world.github.rename(name, repo.name)
  }

  /** The old name leads to another repository from now on, with pull requests of its own. */
  #reuseName(): void {
    if (this.#world.repositories.length >= repositoriesMax) return
    const name = this.#freeNames.pop()
    if (name === undefined) return
    this.#world.inject('name reused')
    this.#say(`make a new repository ${name}`)
    const repo = this.#world.addRepository(name)
    if (this.#random.chance(70)) this.#openIn(repo)
  }

  #say(what: string): void {
    this.#world.story.tell('people', what)
  }
}
