/** Operators rerun and cancel runs, retry, skip and confirm deliveries, replay and purge. */
import type { RunningNode } from '../node.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { World } from '../world.ts'
import type { ActorKind } from './actors.ts'

const years = 10 * 365 * 24 * 3_600_000

export class Operators implements ActorKind {
  readonly #world: World
  readonly #random: SeededRandom

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  act(): void {
    const roll = this.#random.below(100)
    if (roll < 32) void this.#rerun()
    else if (roll < 52) void this.#cancel()
    else if (roll < 62) void this.#retry()
    else if (roll < 69) void this.#skip()
    else if (roll < 76) void this.#confirm()
    else if (roll < 85) void this.#replay()
    else void this.#purge()
  }

  #rerun(): Promise<void> {
    return this.#operate('rerun', 'run', (id, { runs }) => {
      this.#world.requestRerun(id)
      return runs.rerun(id, 'operator')
    })
  }

  #cancel(): Promise<void> {
    return this.#operate('cancel', 'run', (id, { runs }) => runs.cancel(id, 'operator'))
  }

  #retry(): Promise<void> {
    return this.#operate('retry', 'delivery', (id, { store }) =>
      store.outbox.retry(id, 'operator', null),
    )
  }

  #skip(): Promise<void> {
    return this.#operate('skip', 'delivery', (id, { store }) => {
      this.#world.excuses.closedByOperator(id)
      return store.outbox.skip(id, 'not needed', 'operator', null)
    })
  }

  /** Without an id: the operator does not say which comment or status it is. */
  #confirm(): Promise<void> {
    return this.#operate('confirm', 'delivery', (id, { store }) => {
      this.#world.excuses.closedByOperator(id)
      return store.outbox.confirm(id, null, 'operator', null)
    })
  }

  #replay(): Promise<void> {
    return this.#operate('replay', 'inbox', (id, { intake }) => intake.replay(id, 'operator'))
  }

  /** Removes finished and delivered work; the subjects of pull requests stay. */
  async #purge(): Promise<void> {
    const running = this.#world.someNode(this.#random)?.running ?? null
    if (running === null) return
    this.#world.countFault('operator: purge')
    this.#record('purge')
    const limits = { finishedMs: 0, supersededMs: 0, auditMs: years, eventMs: years }
    await running.store.upkeep
      .purge(limits, 'operator')
      .catch((error: unknown) => this.#record(`failed: ${String(error)}`))
  }

  /** Acts on one of the newest rows, through any node that answers. */
  async #operate(
    what: string,
    table: 'run' | 'delivery' | 'inbox',
    act: (id: string, node: RunningNode) => Promise<unknown>,
  ): Promise<void> {
    const running = this.#world.someNode(this.#random)?.running ?? null
    const rows = await this.#world.memory.select(`SELECT id FROM ${table} ORDER BY id DESC LIMIT 4`)
    const id = this.#random.pickFrom(rows)?.['id'] as string | undefined
    if (running === null || id === undefined) return
    this.#world.countFault(`operator: ${what}`)
    this.#record(`${what} ${id}`)
    await act(id, running).catch((error: unknown) => this.#record(`failed: ${String(error)}`))
  }

  #record(what: string): void {
    this.#world.story.add('operator', what)
  }
}
