/** Contributors open, push, force-push, close and reopen pull requests, and change the base. */
import type { SeededRandom } from '../seeded-random.ts'
import type { World, WorldPull, WorldRepository } from '../world.ts'
import type { ActorKind } from './actors.ts'

const pullsMax = 4

export class Contributors implements ActorKind {
  readonly #world: World
  readonly #random: SeededRandom

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  act(): void {
    const random = this.#random
    const pull = random.pickFrom(this.#world.pulls)
    if (pull === undefined) return
    this.#change(pull)
    // GitHub's times have whole seconds: within one second only the payloads say which came first.
    const more = random.chance(15) ? random.between(1, 2) : 0
    for (let count = 0; count < more; count += 1) this.#change(pull)
  }

  #change(pull: WorldPull): void {
    const roll = this.#random.below(100)
    if (roll < 18) this.open()
    else if (roll < 70) this.#push(pull)
    else if (roll < 90) this.#closeOrReopen(pull)
    else this.#changeBase(pull)
  }

  open(): void {
    const { pulls, repositories } = this.#world
    const repo = this.#random.pickFrom(repositories)
    if (repo !== undefined && pulls.length < pullsMax) this.openIn(repo)
  }

  openIn(repo: WorldRepository): void {
    const { github, pulls } = this.#world
    const other = this.#pullToShareHeadWith(repo.id)
    const sha = other?.heads.at(-1) ?? this.#newSha()
    const baseSha = other !== undefined && this.#random.chance(40) ? other.baseSha : this.#newSha()
    this.#maybeHideCommit(repo.name, sha)
    const { number } = github.addPull(repo.name, { headSha: sha, baseSha, author: 'ann' })
    pulls.push({ repo, number, heads: [sha], baseSha, formerBases: [], isOpen: true })
    this.#record(`open ${repo.name}#${number} at ${sha.slice(0, 7)}`)
  }

  /** Two pull requests can have the same head branch, and even the same base. */
  #pullToShareHeadWith(repositoryId: number): WorldPull | undefined {
    if (!this.#random.chance(25)) return undefined
    const others = this.#world.pulls.filter(({ repo }) => repo.id === repositoryId)
    return this.#random.pickFrom(others)
  }

  #push(pull: WorldPull): void {
    if (!pull.isOpen) return
    const random = this.#random
    const older = random.chance(30) ? random.pickFrom(pull.heads.slice(0, -1)) : undefined
    const sha = older ?? this.#newSha()
    if (sha === pull.heads.at(-1)) return
    if (older === undefined) this.#maybeHideCommit(pull.repo.name, sha)
    pull.heads.push(sha)
    const force = older !== undefined || random.chance(30)
    this.#record(`${force ? 'force-push' : 'push'} ${sha.slice(0, 7)} to ${pullName(pull)}`)
    this.#world.github.push(pull.repo.name, pull.number, sha, { force, by: 'ann' })
  }

  #closeOrReopen(pull: WorldPull): void {
    const { github } = this.#world
    this.#record(`${pull.isOpen ? 'close' : 'reopen'} ${pullName(pull)}`)
    if (pull.isOpen) github.close(pull.repo.name, pull.number, { by: 'ann' })
    else github.reopen(pull.repo.name, pull.number, 'ann')
    pull.isOpen = !pull.isOpen
  }

  #changeBase(pull: WorldPull): void {
    if (!pull.isOpen) return
    const former = this.#random.chance(40) ? this.#random.pickFrom(pull.formerBases) : undefined
    pull.formerBases.push(pull.baseSha)
    pull.baseSha = former ?? this.#newSha()
    this.#record(`change the base of ${pullName(pull)}`)
    const edit = { baseSha: pull.baseSha, baseRef: `base-${this.#random.below(1000)}` }
    this.#world.github.edit(pull.repo.name, pull.number, edit, 'ann')
  }

  /** A webhook names some commits before GitHub's API can show them. */
  #maybeHideCommit(repo: string, sha: string): void {
    if (!this.#random.chance(15) || this.#world.isQuiet) return
    this.#world.countFault('commit not visible yet')
    const visibleAt = this.#world.time.trueMs() + this.#random.below(60_000)
    this.#world.excuses.commitHidden(sha, visibleAt)
    this.#world.github.addCommit(repo, sha, { visibleAt })
  }

  #newSha(): string {
    return this.#random.bytes(20).toString('hex')
  }

  #record(what: string): void {
    this.#world.story.add('people', what)
  }
}

export const pullName = ({ repo, number }: WorldPull): string => `${repo.name}#${number}`
