/**
 * Everybody else on a thread: they comment, copy our comments, delete and edit them, and press
 * "Re-run".
 */
import type { SeededRandom } from '../seeded-random.ts'
import type { World, WorldPull } from '../world.ts'
import { pullName } from './contributors.ts'
import type { ActorKind } from './actors.ts'

export class Strangers implements ActorKind {
  readonly #world: World
  readonly #random: SeededRandom

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  act(): void {
    const pull = this.#random.pickFrom(this.#world.pulls)
    if (pull === undefined) return
    const roll = this.#random.below(100)
    if (roll < 10) this.#talk(pull)
    else if (roll < 50) this.#copyOurs(pull)
    else if (roll < 70) this.#deleteOurs(pull)
    else if (roll < 88) this.#editOurs(pull)
    else this.#pressRerun(pull)
  }

  #talk({ repo, number }: WorldPull): void {
    if (!this.#mayWrite(repo.name, number)) return
    const body = this.#random.pick(['Nice.', 'holdfast:1 is a nice name', '<!-- holdfast -->'])
    this.#world.github.commentAs('bob', repo.name, number, body)
  }

  /** The copy contains our marker, which everybody can see and copy. */
  #copyOurs(pull: WorldPull): void {
    const { repo, number } = pull
    const comment = this.#random.pickFrom(this.#ourComments(pull))
    if (comment === undefined || !this.#mayWrite(repo.name, number)) return
    this.#world.countFault('marker copied')
    this.#record(`copy comment ${comment.id} on ${pullName(pull)}`)
    this.#world.github.commentAs('mallory', repo.name, number, comment.body)
  }

  #deleteOurs(pull: WorldPull): void {
    const comment = this.#random.pickFrom(this.#ourComments(pull))
    if (comment === undefined || this.#world.isQuiet) return
    this.#world.countFault('comment deleted')
    this.#record(`delete comment ${comment.id} on ${pullName(pull)}`)
    this.#world.github.deleteCommentAs('ann', comment.id)
  }

  #editOurs(pull: WorldPull): void {
    const comment = this.#random.pickFrom(this.#ourComments(pull))
    if (comment === undefined || this.#world.isQuiet) return
    this.#world.countFault('comment edited')
    this.#record(`edit comment ${comment.id} on ${pullName(pull)}`)
    const body = this.#random.chance(50) ? 'I know better.' : `${comment.body}\n\nSo what?`
    this.#world.github.editCommentAs('ann', comment.id, body)
  }

  #pressRerun(pull: WorldPull): void {
    const { github } = this.#world
    const sha = pull.heads.at(-1) ?? ''
    const check = this.#random.pickFrom(github.checkRuns(pull.repo.name, sha))
    if (check === undefined) return
    this.#record(`press "Re-run" on check run ${check.id} of ${pullName(pull)}`)
    this.#world.requestRerun(sha)
    github.rerequestAs('ann', check.id)
  }

  #mayWrite(repo: string, number: number): boolean {
    return !this.#world.github.thread(repo, number).locked
  }

  #ourComments({ repo, number }: WorldPull) {
    const { github, ourLogin } = this.#world
    return github.comments(repo.name, number).filter(({ author }) => author === ourLogin)
  }

  #record(what: string): void {
    this.#world.story.add('people', what)
  }
}
