/**
 * The store of a program that embeds Holdfast. It is opened when it is first needed. While it
 * cannot be reached, each call that needs it tries once to open it; calls at the same time share
 * that try. Nothing is tried in the background.
 *
 * With a queue, other processes are told at once which runs are free or lost, and this one is told
 * too. Nothing waits for the queue.
 */
import { StoreUnavailableError } from '../errors.ts'
import { unannounced } from '../domain/run.ts'
import type { Log } from '../log.ts'
import { openEngine } from '../open-engine.ts'
import { openStore, type Machine } from '../open-store.ts'
import { createRuns, type RunsService } from '../runs/create-runs.ts'
import { createSweeper } from '../runs/sweeper.ts'
import { runPolicy } from '../settings/run-types/run-policy.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../store.ts'

export interface OpenedStore {
  readonly store: Store
  readonly runs: RunsService
  /** Call before a claim: a server may have started on the store for the first time. */
  noticeServer(): Promise<void>
  close(): Promise<void>
}

export class StoreAccess {
  readonly #open: () => Promise<OpenedStore>
  #opened: Promise<OpenedStore> | null = null
  #closed = false
  #closing: Promise<void> | null = null

  constructor(open: () => Promise<OpenedStore>) {
    this.#open = open
  }

  /** Rejects with StoreUnavailableError while the store cannot be reached. */
  get(): Promise<OpenedStore> {
    if (this.#closed && this.#opened === null) return Promise.reject(storeClosed())
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = null
      throw error
    })
    return this.#opened
  }

  /** Repeated calls wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#closed = true
    const opened = await this.#opened?.catch(() => null)
    await opened?.close()
  }
}

export async function openEmbeddedStore(
  settings: Settings,
  machine: Machine & { readonly log: Log },
): Promise<OpenedStore> {
  const { scheduler, log } = machine
  const store = await openStore(settings, machine)
  try {
    // Only a server publishes announcements. While there never was one, runs announce nothing.
    let isServed = false
    const noticeServer = async (): Promise<void> => {
      isServed ||= (await store.upkeep.servedAt()) !== null
    }
    // The store must know how long holders could not reach it before a run is taken from one.
    await store.upkeep.watch()
    const storeId = (): Promise<string> => store.upkeep.storeId()
    const engine =
      settings.queueUrl === null ? null : await openEngine(settings, { ...machine, storeId })
    const runs = createRuns({
      ...machine,
      ...(engine !== null && { engine }),
      store,
      leaseMs: settings.leaseMs,
      policyOf: (type, kind) => {
        const policy = runPolicy(settings, type, kind)
        return isServed ? policy : { ...policy, announcement: unannounced }
      },
      headSource: null,
    })
    const onSwept: Parameters<typeof createSweeper>[0]['onSwept'] = (swept) => runs.runsEnded(swept)
    const sweeper = createSweeper({ store, scheduler, log, serves: false, onSwept })
    sweeper.start()
    engine?.listen([], { runAvailable: () => Promise.resolve(undefined), runsLost: runs.lost })
    return {
      store,
      runs,
      noticeServer,
      async close() {
        await sweeper.stop()
        await engine?.stop()
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

function storeClosed(): StoreUnavailableError {
  return new StoreUnavailableError('store_closed', 'the store is closed')
}
