/** Access that admins take from us for a while: a thread is locked, a repository hidden. */
import type { Step } from '../node-ports.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { StepListener, World, WorldRepository } from '../world.ts'
import type { FaultKind } from './fault-injector.ts'

const commentEdit = /^PATCH \/repos.*\/issues\/comments\/\d+$/
const threadRead = /^GET \/repos.*\/issues\/\d+$/

export class PermissionFaults implements FaultKind {
  readonly #world: World
  readonly #random: SeededRandom
  readonly #undo: (() => void)[] = []
  readonly #listeners: StepListener[] = []

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  inject(): void {
    const roll = this.#random.below(10)
    if (roll < 2) this.#lock()
    else if (roll < 3) this.#restrict(this.#someRepository(), this.#random.below(60_000))
    else this.#restrictAtEdit()
  }

  clear(): void {
    for (const listen of this.#listeners) this.#world.onStep.delete(listen)
    for (const undo of this.#undo) undo()
  }

  #lock(): void {
    const pull = this.#random.pickFrom(this.#world.pulls)
    const { github, time, story, excuses } = this.#world
    if (pull === undefined) return
    const { repo, number } = pull
    this.#world.countFault('thread locked')
    story.add('people', `lock ${repo.name}#${number}`)
    excuses.refusalBegan(repo.id, number)
    github.lock(repo.name, number)
    const unlock = (): void => {
      github.unlock(repo.name, number)
      excuses.refusalEnded(repo.id, number)
    }
    this.#undo.push(unlock)
    if (this.#random.chance(50)) time.after(this.#random.below(60_000), unlock)
  }

  /**
   * Hides the repository right before we edit a comment, and shows it again after we have read the
   * thread twice, or soon. This may happen a second time.
   */
  #restrictAtEdit(): void {
    const random = this.#random
    const untilRead = random.chance(70)
    const forMs = untilRead ? 40_000 : random.between(8000, 20_000)
    const again = random.chance(50)
    this.#onNthStep('before request', commentEdit, 1, (about) => {
      const repo = this.#repositoryAt(about)
      if (repo === undefined) return
      this.#restrict(repo, forMs)
      if (again) this.#world.time.after(forMs, () => this.#restrictAgain())
      if (untilRead) this.#onNthStep('after answer', threadRead, 2, () => this.#allow(repo))
    })
  }

  #restrictAgain(): void {
    if (!this.#world.isQuiet) this.#restrictAtEdit()
  }

  #onNthStep(step: Step, about: RegExp, nth: number, act: (about: string) => void): void {
    let remaining = nth
    const listen: StepListener = (_node, reached, what) => {
      if (reached !== step || !about.test(what)) return
      remaining -= 1
      if (remaining > 0) return
      this.#world.onStep.delete(listen)
      act(what)
    }
    this.#listeners.push(listen)
    this.#world.onStep.add(listen)
  }

  #repositoryAt(about: string): WorldRepository | undefined {
    const [, named = '', id = ''] =
      /\/repos\/([^/]+\/[^/]+)|\/repositories\/(\d+)/.exec(about) ?? []
    return this.#world.repositories.find((repo) => repo.name === named || String(repo.id) === id)
  }

  #someRepository(): WorldRepository | undefined {
    return this.#random.pickFrom(this.#world.repositories)
  }

  #restrict(repo: WorldRepository | undefined, forMs: number): void {
    if (repo === undefined) return
    const { github, time, story, excuses } = this.#world
    this.#world.countFault('permission lost')
    story.add('people', `hide ${repo.name} from us for ${forMs} ms`)
    excuses.refusalBegan(repo.id, null)
    github.restrict(repo.name)
    const allow = (): void => this.#allow(repo)
    this.#undo.push(allow)
    time.after(forMs, allow)
  }

  #allow(repo: WorldRepository): void {
    this.#world.github.allow(repo.name)
    this.#world.excuses.refusalEnded(repo.id, null)
  }
}
