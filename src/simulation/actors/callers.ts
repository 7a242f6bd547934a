/**
 * Programs that claim runs themselves and know a repository only by its name. After a rename they
 * may use the new name before Holdfast knows which repository has it.
 */
import type { SeededRandom } from '../seeded-random.ts'
import type { World, WorldPull, WorldRepository } from '../world.ts'
import type { ActorKind } from './actors.ts'

export class Callers implements ActorKind {
  readonly #world: World
  readonly #random: SeededRandom

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  act(): void {
    void this.#claim(this.#world.pulls)
  }

  /** Claims under the repository's present name. */
  actIn(wanted: WorldRepository): void {
    void this.#claim(this.#world.pulls.filter(({ repo }) => repo === wanted))
  }

  async #claim(pulls: readonly WorldPull[]): Promise<void> {
    const { story, github, excuses } = this.#world
    const pull = this.#random.pickFrom(pulls.filter(({ isOpen }) => isOpen))
    const running = this.#world.someNode(this.#random)?.running ?? null
    if (pull === undefined || running === null) return
    const { repo, number, baseSha } = pull
    const headSha = github.thread(repo.name, number).headSha ?? ''
    story.add('caller', `claims ${repo.name}#${number} at ${headSha.slice(0, 7)} by name`)
    const about = { type: 'review', repo: repo.name, pr: number, baseSha, headSha }
    await running.runs
      .claim({ kind: 'pull_request', ...about, lease: false }, 'caller')
      .then(({ run }) => run !== null && excuses.runClaimedByName(run.id, repo.id))
      .catch((error: unknown) => story.add('caller', `failed: ${String(error)}`))
  }
}
