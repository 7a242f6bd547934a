/** Upkeep of the store: its servers, its mode, and what is past retention. */
import type * as port from '../../store.ts'
import { readState, writeStateOnce, type StateKey } from '../tables/state-table.ts'
import { ensureMarkerKey } from '../verbs/outbox/marker-keys.ts'
import { noteAll, noteServed, noticeBackup } from '../verbs/outbox/note-restore.ts'
import { purge } from '../verbs/upkeep/purge.ts'
import { storeVitals } from '../verbs/upkeep/vitals.ts'
import type { Presence } from './presence.ts'
import type { VerbRunner } from './verb-runner.ts'

export class SqlUpkeep implements port.UpkeepStore {
  readonly #runner: VerbRunner
  readonly #presence: Presence

  constructor(runner: VerbRunner, presence: Presence) {
    this.#runner = runner
    this.#presence = presence
  }

  beat(): Promise<void> {
    return this.#presence.beat()
  }

  watch(): Promise<void> {
    return this.#presence.watch()
  }

  servedAt(): Promise<number | null> {
    return this.#readTime('alive_at')
  }

  vitals(): Promise<port.StoreVitals> {
    return this.#runner.read(() => storeVitals(this.#runner.context.now()))
  }

  purge(limits: port.PurgeLimits, actor: string): Promise<port.PurgeAnswer> {
    return this.#runner.transact(() => purge(this.#runner.context, limits, actor))
  }

  async recordMode(mode: port.StoreMode): Promise<port.StoreMode> {
    const { driver, context } = this.#runner
    const recorded = await driver.transact(function* () {
      yield* writeStateOnce('first_started_at', String(context.now()))
      // The key exists before anything is signed with it, so every backup contains it.
      yield* ensureMarkerKey(context)
      yield* noticeBackup(context)
      return (yield* writeStateOnce('mode', mode)) as port.StoreMode
    })
    // Continues a noting that an earlier process has begun.
    await noteAll(driver, context)
    await driver.transact(() => noteServed(context))
    return recorded
  }

  firstStartedAt(): Promise<number | null> {
    return this.#readTime('first_started_at')
  }

  async storeId(): Promise<string> {
    const stored = await this.#runner.read(() => readState('store_id'))
    if (stored !== null) return stored
    const { driver, context } = this.#runner
    return await driver.transact(() => writeStateOnce('store_id', context.newStoreId()))
  }

  async #readTime(key: StateKey): Promise<number | null> {
    const stored = await this.#runner.read(() => readState(key))
    return stored === null ? null : Number(stored)
  }
}
