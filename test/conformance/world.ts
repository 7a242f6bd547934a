/**
 * One store under test, with its time in the test's hand: the clock stands still until a test
 * moves it, and background loops never fire.
 *
 * On SQLite the store's clock is this machine's. On PostgreSQL it is the server's, measured when
 * the store opens and carried on by this machine's monotonic clock. Moving both wall and monotonic
 * time therefore moves either store; tests speak of times relative to `store.now()` only.
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

/** Opens a store over an empty database of its own. */
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

  /** The two differ by the same at every moment: a store must not take it for a jump. */
  wallMs(): number {
    return Date.UTC(2026, 0, 1) + this.monotonicMs()
  }

  /** Not moved while a store opens, so that a server's time is measured from where it was. */
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

/** A channel to addresses that nobody serves: what is sent there waits. */
export const letters: ChannelDeclaration = {
  ...unknownChannel('letters'),
  place: 'address',
}

export function machineWith(clock: Clock): StoreMachine {
  const channels = [...githubDeclarations, letters]
  return { clock, random: seededChance(), scheduler: stillScheduler, channels }
}

export async function openWorld(open: OpenStore): Promise<World> {
  const clock = new TestClock()
  const opened = await clock.whileOpening(() => open(machineWith(clock)))
  return { store: opened.store, clock, close: () => opened.close() }
}

/** One world for the tests of a group, which keep apart by names of their own. */
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

/** A world of its own for each test of a group, under one name: it is there while a test runs. */
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
