/**
 * What people do in the simulated world: they open, push, force-push back, close, reopen, comment,
 * delete and edit what is not theirs, copy what they see, rerun and call off.
 */
import type { RunningNode } from './node.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { World } from './world.ts'
import { owner, repositories } from './world.ts'

interface Pull {
  readonly repo: string
  readonly number: number
  readonly heads: string[]
  baseSha: string
  isOpen: boolean
  /** One event of a pull request in a second: its times have no more to tell them apart by. */
  touchedAt: number
}

const pullsMax = 3
const eventGapMs = 1100

export class People {
  readonly pulls: Pull[] = []
  readonly #world: World
  readonly #random: SeededRandom
  #names = 0

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  /** Something, whatever comes to somebody's mind. */
  act(): void {
    const random = this.#random
    if (this.pulls.length === 0) return this.#open()
    const pull = random.pickFrom(this.pulls)
    if (pull === undefined) return
    const roll = random.below(100)
    if (roll < 12) this.#open()
    else if (roll < 42) this.#push(pull)
    else if (roll < 50) this.#closeOrReopen(pull)
    else if (roll < 54) this.#changeBase(pull)
    else if (roll < 60) this.#talk(pull)
    else if (roll < 67) this.#copyOurs(pull)
    else if (roll < 74) this.#deleteOurs(pull)
    else if (roll < 79) this.#editOurs(pull)
    else if (roll < 82) this.#rename()
    else if (roll < 89) this.#rerun()
    else if (roll < 94) this.#cancel()
    else if (roll < 97) this.#sendAgain()
    else this.#replay()
  }

  #say(what: string): void {
    this.#world.story.tell('people', what)
  }

  #sha(): string {
    return this.#random.bytes(20).toString('hex')
  }

  #open(): void {
    if (this.pulls.length >= pullsMax) return
    const { github, time } = this.#world
    const random = this.#random
    const repo = random.pick(repositories)
    const heads = [this.#sha()]
    const baseSha = this.#sha()
    this.#hideFor(repo, heads[0] ?? '')
    const { number } = github.addPull(repo, { headSha: heads[0] ?? '', baseSha, author: 'ann' })
    this.pulls.push({ repo, number, heads, baseSha, isOpen: true, touchedAt: time.wallMs() })
    this.#say(`open ${repo}#${number} at ${(heads[0] ?? '').slice(0, 7)}`)
  }

  /** Some commits are told of before they can be seen. */
  #hideFor(repo: string, sha: string): void {
    if (!this.#random.chance(15) || this.#world.isQuiet) return
    this.#world.inject('commit not visible yet')
    const visibleAt = this.#world.time.wallMs() + this.#random.below(60_000)
    this.#world.github.addCommit(repo, sha, { visibleAt })
  }

  #isTooSoon(pull: Pull): boolean {
    const now = this.#world.time.wallMs()
    if (now - pull.touchedAt < eventGapMs) return true
    pull.touchedAt = now
    return false
  }

  #push(pull: Pull): void {
    if (!pull.isOpen || this.#isTooSoon(pull)) return
    const random = this.#random
    // A head that came back without a word is not found by looking at pull requests yet.
    const mayReturn = !this.#world.injected.has('webhook swallow')
    const goesBack = mayReturn && random.chance(30)
    const older = goesBack ? random.pickFrom(pull.heads.slice(0, -1)) : undefined
    const sha = older ?? this.#sha()
    if (sha === pull.heads.at(-1)) return
    if (older === undefined) this.#hideFor(pull.repo, sha)
    pull.heads.push(sha)
    const force = older !== undefined || random.chance(30)
    this.#say(`${force ? 'force-push' : 'push'} ${sha.slice(0, 7)} to ${name(pull)}`)
    this.#world.github.push(pull.repo, pull.number, sha, { force, by: 'ann' })
  }

  #closeOrReopen(pull: Pull): void {
    if (this.#isTooSoon(pull)) return
    const { github } = this.#world
    this.#say(`${pull.isOpen ? 'close' : 'reopen'} ${name(pull)}`)
    if (pull.isOpen) github.close(pull.repo, pull.number, { by: 'ann' })
    else github.reopen(pull.repo, pull.number, 'ann')
    pull.isOpen = !pull.isOpen
  }

  #changeBase(pull: Pull): void {
    if (!pull.isOpen || this.#isTooSoon(pull)) return
    pull.baseSha = this.#sha()
    this.#say(`change the base of ${name(pull)}`)
    const edit = { baseSha: pull.baseSha, baseRef: `base-${this.#random.below(1000)}` }
    this.#world.github.edit(pull.repo, pull.number, edit, 'ann')
  }

  #mayWrite({ repo, number }: Pull): boolean {
    return !this.#world.github.thread(repo, number).locked
  }

  #talk(pull: Pull): void {
    if (!this.#mayWrite(pull)) return
    const body = this.#random.pick(['Nice.', 'holdfast:1 is a nice name', '<!-- holdfast -->'])
    this.#world.github.commentAs('bob', pull.repo, pull.number, body)
  }

  #ours(pull: Pull) {
    const { github, ourLogin } = this.#world
    return github.comments(pull.repo, pull.number).filter(({ author }) => author === ourLogin)
  }

  /** With our marker in it: everybody can see and copy that. */
  #copyOurs(pull: Pull): void {
    const comment = this.#random.pickFrom(this.#ours(pull))
    if (comment === undefined || !this.#mayWrite(pull)) return
    this.#world.inject('marker copied')
    this.#say(`copy comment ${comment.id} on ${name(pull)}`)
    this.#world.github.commentAs('mallory', pull.repo, pull.number, comment.body)
  }

  #deleteOurs(pull: Pull): void {
    const comment = this.#random.pickFrom(this.#ours(pull))
    if (comment === undefined || this.#world.isQuiet) return
    this.#world.inject('comment deleted')
    this.#say(`delete comment ${comment.id} on ${name(pull)}`)
    this.#world.github.deleteCommentAs('ann', comment.id)
  }

  #editOurs(pull: Pull): void {
    const comment = this.#random.pickFrom(this.#ours(pull))
    if (comment === undefined || this.#world.isQuiet) return
    this.#world.inject('comment edited')
    this.#say(`edit comment ${comment.id} on ${name(pull)}`)
    const body = this.#random.chance(50) ? 'I know better.' : `${comment.body}\n\nSo what?`
    this.#world.github.editCommentAs('ann', comment.id, body)
  }

  #rename(): void {
    const repo = this.#random.pick(repositories)
    const newName = `${owner}/${repo.split('/')[1]}-${(this.#names += 1)}`
    this.#world.inject('repository renamed')
    this.#say(`rename ${repo} to ${newName}`)
    this.#world.github.rename(repo, newName)
  }

  #rerun(): void {
    void this.#operate('rerun', 'run', (id, { runs }) => runs.rerun(id, 'operator'))
  }

  #cancel(): void {
    void this.#operate('call off', 'run', (id, { runs }) => runs.cancel(id, 'operator'))
  }

  #sendAgain(): void {
    void this.#operate('send again', 'delivery', (id, { store }) =>
      store.outbox.retry(id, 'operator', null),
    )
  }

  #replay(): void {
    void this.#operate('replay', 'inbox', (id, { intake }) => intake.replay(id, 'operator'))
  }

  /** On one of the newest, through whichever node answers. */
  async #operate(
    what: string,
    table: 'run' | 'delivery' | 'inbox',
    act: (id: string, node: RunningNode) => Promise<unknown>,
  ): Promise<void> {
    const running = this.#world.someNode(this.#random)?.running ?? null
    const rows = await this.#world.memory.select(`SELECT id FROM ${table} ORDER BY id DESC LIMIT 4`)
    const id = this.#random.pickFrom(rows)?.['id'] as string | undefined
    if (running === null || id === undefined) return
    this.#say(`${what} ${id}`)
    await act(id, running).catch((error: unknown) => this.#say(`… ${String(error)}`))
  }
}

const name = ({ repo, number }: Pull): string => `${repo}#${number}`
