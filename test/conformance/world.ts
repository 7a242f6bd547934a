/**
 * A store under test whose time the test controls: the clock does not move until a test moves it,
 * and background loops never fire.
 *
 * On SQLite the store's clock is this machine's. On PostgreSQL it is the server's, measured when
 * the store opens and continued by this machine's monotonic clock. Moving both wall and monotonic
 * time therefore moves either store. Tests use only times relative to `store.now()`.
 */
import {
  unknownChannel,
  type ChannelDeclaration,
} from '../../src/domain/outbox/channel-declaration.ts'
import { githubDeclarations } from '../../src/channels/github-channels.ts'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { Clock } from '../../src/clock.ts'
import type { Scheduler } from '../../src/scheduler.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import type { Store } from '../../src/store.ts'
import type { StoreMachine } from '../../src/stores/open-sqlite.ts'
import { seededChance } from '../seed.ts'

export interface OpenedStore {
  readonly store: Store
  close(): Promise<void>
}

/** Opens a store on its own, empty database. */
export type OpenStore = (machine: StoreMachine) => Promise<OpenedStore>

export interface World {
  readonly store: Store
  readonly clock: TestClock
  close(): Promise<void>
}

export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

export class TestClock implements Clock {
  #movedMs = 0
  #opening = false

  /** The difference between the two clocks never changes, so a store sees no jump. */
  wallMs(): number {
    return Date.UTC(2026, 0, 1) + this.monotonicMs()
  }

  /** Zero while a store opens, so that the server's time is measured from the same start. */
  monotonicMs(): number {
    return this.#opening ? 0 : this.#movedMs
  }

  move(ms: number): void {
    this.#movedMs += ms
  }

  async whileOpening<T>(open: () => Promise<T>): Promise<T> {
    this.#opening = true
    try {
      return await open()
    } finally {
      this.#opening = false
    }
  }
}

const stillScheduler: Scheduler = {
  ...systemScheduler,
  afterInBackground: () => () => undefined,
}

/** A channel to addresses, without a publisher: what is sent there waits. */
export const addressChannel: ChannelDeclaration = {
  ...unknownChannel('letters'),
  place: 'address',
}

export function machineWith(clock: Clock): StoreMachine {
  const channels = [...githubDeclarations, addressChannel]
  return { clock, random: seededChance(), scheduler: stillScheduler, channels }
}

export async function openWorld(open: OpenStore): Promise<World> {
  const clock = new TestClock()
  const opened = await clock.whileOpening(() => open(machineWith(clock)))
  return { store: opened.store, clock, close: () => opened.close() }
}

/** One world for all tests of a group, which use different names. */
export function useWorld(open: OpenStore): () => World {
  let world: World | undefined
  beforeAll(async () => {
    world = await openWorld(open)
  })
  afterAll(() => world?.close())
  return () => {
    if (world === undefined) throw new Error('a world is there once its tests run')
    return world
  }
}

/** A new world for each test of a group. It exists only while a test runs. */
export function useFreshWorld(makeWorld: () => Promise<World>): World {
  let world: World | undefined
  beforeEach(async () => {
    world = await makeWorld()
  })
  afterEach(() => world?.close())
  const present = (): World => {
    if (world === undefined) throw new Error('a world is there while a test runs')
    return world
  }
  return {
    get store() {
      return present().store
    },
    get clock() {
      return present().clock
    },
    close: () => present().close(),
  }
}
