/**
 * In some worlds the database is lost and restored from an older copy. The database then knows
 * nothing of the time between copy and restore, while GitHub has changed. Two things happen, as the
 * manual requires. All nodes are stopped for longer than any of their requests can be open. And the
 * first start knows of the restore: a copy made by `backup` contains a mark; for any other copy an
 * operator runs `migrate --restored`.
 */
import type { MemoryCopy } from '../open-store.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { World } from './world.ts'

const sharePercent = 10
/** Longer than the last request of a crashed node can be on its way. */
const stopMs = { least: 95_000, most: 200_000 }

export class Restores {
  readonly #world: World
  readonly #random: SeededRandom
  /** The acts of the story with the copy and the restore; null in worlds without a restore. */
  readonly #plan: { readonly copyAt: number; readonly restoreAt: number } | null
  #copy: { readonly rows: MemoryCopy; readonly madeAt: number } | null = null

  constructor(world: World, acts: number) {
    this.#world = world
    this.#random = world.random.fork()
    const copyAt = this.#random.below(acts - 1)
    const restoreAt = this.#random.between(copyAt + 1, acts - 1)
    this.#plan = this.#random.chance(sharePercent) ? { copyAt, restoreAt } : null
  }

  /** `meanwhile` makes something happen on GitHub while all nodes are stopped. */
  async onAct(index: number, meanwhile: () => void): Promise<void> {
    if (index === this.#plan?.copyAt) await this.#makeCopy()
    if (index === this.#plan?.restoreAt) await this.#restore(meanwhile)
  }

  async #makeCopy(): Promise<void> {
    const { memory, time, story } = this.#world
    this.#copy = { rows: await memory.copy(), madeAt: time.trueMs() }
    story.add('operator', 'copies the database')
  }

  async #restore(meanwhile: () => void): Promise<void> {
    const copy = this.#copy
    if (copy === null) return
    const { nodes, time, story, memory } = this.#world
    this.#world.countFault('database restored')
    for (const node of nodes) {
      node.mayNotStart = true
      node.crash('because its database is lost')
    }
    for (let remaining = this.#random.below(3); remaining > 0; remaining -= 1) {
      await time.pass(this.#random.below(20_000))
      meanwhile()
    }
    await time.pass(this.#random.between(stopMs.least, stopMs.most))
    story.add('operator', 'restores the database')
    await this.#letTimePassFor(memory.putBack(copy.rows))
    const restoredDeliveryIds = new Set((copy.rows.get('delivery') ?? []).map(({ id }) => id))
    this.#world.forgotten = { from: copy.madeAt, until: time.trueMs(), restoredDeliveryIds }
    await this.#world.onRestored()
    await this.#markAsRestored()
    for (const node of nodes) {
      node.mayNotStart = false
      node.start()
    }
  }

  /** By the mark that a backup contains, or by the operator's command. */
  async #markAsRestored(): Promise<void> {
    const { memory, time } = this.#world
    if (this.#random.chance(50)) {
      await memory.select(`INSERT INTO store_state (key, value) VALUES ('is_backup', '1')`)
      return
    }
    const connection = {
      carry: <T>(_what: string, proceed: () => Promise<T>): Promise<T> => proceed(),
    }
    const store = memory.open(connection, { clock: time, scheduler: time, random: this.#random })
    await this.#letTimePassFor(store.outbox.noteRestore())
  }

  async #letTimePassFor(work: Promise<unknown>): Promise<void> {
    await this.#world.time.pass(10)
    await work
  }
}
