// Goal: what was taken in is processed, in order per lane, through outages of the store and of
// GitHub, and what cannot be processed holds up nobody else.
// Method: a store that keeps entries in a list, time that stands still until a test moves it, and
// timers that only a test fires.
import { brotliCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { InboxEntry } from '../domain/inbox.ts'
import { decisionOf } from '../domain/inbox.ts'
import { StoreContendedError, StoreUnavailableError } from '../errors.ts'
import { noMetrics, type PutOffReason } from '../metrics.ts'
import type { Scheduler } from '../scheduler.ts'
import type { WebhookAct } from '../store.ts'
import { LookFailed } from './acts.ts'
import { Processor } from './processor.ts'
import type { EventFacts } from './webhook-event.ts'
import { readEvent } from './webhook-event.ts'

const say = (): void => undefined
const log = { debug: say, info: say, warn: say, error: say }
const contended = () => new StoreContendedError('store_contended', 'a run changed')
const away = () => new StoreUnavailableError('store_unreachable', 'away')

class Timers implements Scheduler {
  readonly waiting = new Map<object, { ms: number; task: () => void }>()
  soon = (task: () => void): void => queueMicrotask(task)
  after = (ms: number, task: () => void) => {
    const timer = {}
    this.waiting.set(timer, { ms, task })
    return () => void this.waiting.delete(timer)
  }
  afterInBackground = this.after
  fire(): void {
    for (const [timer, { task }] of [...this.waiting]) {
      this.waiting.delete(timer)
      task()
    }
  }
}

class World {
  now = 1_000_000
  readonly entries: InboxEntry[] = []
  readonly bodies = new Map<number, Uint8Array>()
  readonly timers = new Timers()
  readonly acted: string[] = []
  readonly dueLimits: number[] = []
  readonly putOff: PutOffReason[] = []
  largestInHand = 0
  #inHand = 0
  storeIsAway = false
  bodyIsDamaged = 0
  /** Settling these fails, or waits; giving one up does not. */
  settling: (id: string) => Promise<void> = async () => undefined
  /** What an event leads to; may throw or wait. */
  decide: (event: EventFacts) => Promise<readonly WebhookAct[]> | readonly WebhookAct[] = () => []
  readonly processor: Processor

  constructor() {
    this.processor = new Processor({
      store: {
        now: () => this.now,
        dueWebhooks: async (limit) => this.#due(limit),
        webhookBody: async (arrival) => {
          if (this.storeIsAway || this.bodyIsDamaged === arrival) throw away()
          return { headers: '{}', body: this.bodies.get(arrival) ?? Buffer.alloc(0) }
        },
        settleWebhook: async (decided) => {
          if (decided.givenUp !== true) await this.settling(decided.entryId)
          return this.#settle(decided.entryId, decided)
        },
        postponeWebhook: async (id, dueAt, lastError) => {
          if (this.storeIsAway) throw away()
          const entry = this.entry(id)
          this.#write({ ...entry, dueAt, tries: entry.tries + 1, lastError })
        },
      },
      runs: { announceClaim: say, announceSwept: say },
      acts: {
        routesFor: async () => [],
        actsFor: async (event) => {
          this.#inHand += 1
          this.largestInHand = Math.max(this.largestInHand, this.#inHand)
          try {
            return await this.decide(event)
          } finally {
            this.#inHand -= 1
            this.acted.push(event.webhookId)
          }
        },
        failuresFor: (_routes, reason) => [
          { act: 'note', outcome: { type: 'review', result: 'failed', reason, runIds: [] } },
        ],
      },
      scheduler: this.timers,
      log,
      metrics: { ...noMetrics, inboxPutOff: (why) => void this.putOff.push(why) },
    })
  }

  /** Stored, and found by whoever looks. */
  add(id: string, over: Partial<InboxEntry> = {}, body = Buffer.from('{}')): InboxEntry {
    const arrival = this.entries.length + 1
    const entry = { ...anEntry, id, webhookId: id, arrival, lane: id, ...over }
    this.entries.push({ ...entry, receivedAt: this.now, dueAt: this.now })
    this.bodies.set(arrival, brotliCompressSync(body))
    return this.entry(id)
  }

  /** As the door hands it over. */
  take(id: string, over: Partial<InboxEntry> = {}): void {
    this.processor.take(this.add(id, over), readEvent(id, 'pull_request', {}), [])
  }

  entry(id: string): InboxEntry {
    const found = this.entries.find((entry) => entry.id === id)
    if (found === undefined) throw new Error(`there is no ${id}`)
    return found
  }

  states(): readonly string[] {
    return this.entries.map(({ state }) => state)
  }

  #due(limit: number): readonly InboxEntry[] {
    if (this.storeIsAway) throw away()
    this.dueLimits.push(limit)
    const waiting = this.entries.filter(({ state }) => state === 'waiting')
    const firsts = waiting.filter(
      ({ lane }, n) => !waiting.slice(0, n).some((one) => one.lane === lane && one.tries === 0),
    )
    return firsts.filter(({ dueAt }) => (dueAt ?? 0) <= this.now).slice(0, limit)
  }

  #settle(id: string, { acts, reason }: { acts: readonly WebhookAct[]; reason: string | null }) {
    if (this.storeIsAway) throw away()
    const entry = this.entry(id)
    if (entry.state !== 'waiting') {
      return { result: 'elsewhere', entry: null, claims: [], cancelled: [] } as const
    }
    const outcomes = acts.flatMap((act) => (act.act === 'note' ? [act.outcome] : []))
    const decision = { ...decisionOf(outcomes), ...(outcomes.length === 0 && { reason }) }
    const after = { ...entry, ...decision, outcomes, dueAt: null, processedAt: this.now }
    this.#write(after)
    return { result: 'settled', entry: after, claims: [], cancelled: [] } as const
  }

  #write(entry: InboxEntry): void {
    this.entries[this.entries.findIndex(({ id }) => id === entry.id)] = entry
  }
}

const anEntry: InboxEntry = {
  arrival: 0,
  id: '',
  webhookId: '',
  event: 'pull_request',
  action: null,
  repo: null,
  repoId: null,
  number: null,
  sender: null,
  lane: '',
  eventAt: null,
  prState: null,
  state: 'waiting',
  decision: 'accepted',
  reason: null,
  outcomes: [],
  duplicateOf: null,
  receivedAt: 0,
  processedAt: null,
  dueAt: 0,
  tries: 0,
  lastError: null,
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}
const limited = (until?: number) => new LookFailed(until === undefined ? null : { until })

describe('what is taken in', () => {
  it('is processed at once, and nothing is left in hand', async () => {
    const world = new World()
    world.take('a')
    await world.processor.stop()
    expect(world.entry('a')).toMatchObject({ state: 'processed', reason: 'no-trigger' })
  })

  it('of one lane is processed in order; lanes do not wait for each other', async () => {
    const world = new World()
    const first = Promise.withResolvers<void>()
    world.decide = async ({ webhookId }) => {
      if (webhookId === 'a1') await first.promise
      return []
    }
    for (const id of ['a1', 'a2', 'a3']) world.take(id, { lane: 'a' })
    world.take('b1', { lane: 'b' })
    await turns()
    expect(world.acted).toEqual(['b1'])
    first.resolve()
    await world.processor.settled('a3', 1000)
    expect(world.acted).toEqual(['b1', 'a1', 'a2', 'a3'])
    expect(world.largestInHand).toBe(2)
  })

  it('beyond what may be in hand is left to be found', async () => {
    const world = new World()
    const go = Promise.withResolvers<void>()
    world.decide = async () => (await go.promise, [])
    for (let n = 0; n < 4096; n++) world.take(`in hand ${n}`)
    world.take('more')
    await turns()
    expect(world.largestInHand).toBe(4096)
    await world.processor.kick()
    expect(world.dueLimits).toEqual([])
    go.resolve()
    await world.processor.settled('in hand 4095', 1000)
    expect(world.entry('more').state).toBe('waiting')
    await world.processor.kick()
    expect(world.entry('more').state).toBe('processed')
  })

  it('is waited for by a repeat, but not for ever', async () => {
    const world = new World()
    world.decide = () => new Promise(() => undefined)
    world.take('a')
    const waited = world.processor.settled('a', 1000)
    await turns()
    expect([...world.timers.waiting.values()].map(({ ms }) => ms)).toEqual([1000])
    world.timers.fire()
    await waited
    await world.processor.settled('unknown', 1000)
    expect(world.timers.waiting.size).toBe(0)
  })
})

describe('a sweep', () => {
  it('finds what waits, the next of each lane too', async () => {
    const world = new World()
    for (const id of ['a1', 'a2', 'b1']) world.add(id, { lane: id[0] ?? '' })
    await world.processor.kick()
    expect(world.states()).toEqual(['processed', 'processed', 'processed'])
    expect(world.acted.indexOf('a1')).toBeLessThan(world.acted.indexOf('a2'))
  })

  it('gets to the rest behind many that cannot be processed', async () => {
    const world = new World()
    world.decide = ({ webhookId }) => {
      if (webhookId.startsWith('stuck')) throw away()
      return []
    }
    for (let n = 0; n < 300; n++) world.add(`stuck ${n}`)
    for (let n = 0; n < 10; n++) world.add(`good ${n}`)
    await world.processor.kick()
    expect(world.states().filter((state) => state === 'processed')).toHaveLength(10)
    expect(world.acted).toHaveLength(310)
  })

  it('is not held up by a body that cannot be read', async () => {
    const world = new World()
    world.add('bad')
    world.bodies.set(1, Buffer.from('not packed at all'))
    world.add('good')
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed'])
    expect(world.entry('bad')).toMatchObject({
      tries: 1,
      lastError: expect.stringContaining('internal') as string,
    })
  })

  it('is not held up by a body that the store cannot give', async () => {
    const world = new World()
    world.add('bad')
    world.add('good')
    world.bodyIsDamaged = 1
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed'])
    expect(world.putOff).toEqual(['store'])
  })

  it('after a stop finds nothing more, and leaves what had not begun', async () => {
    const world = new World()
    const go = Promise.withResolvers<void>()
    world.decide = async () => (await go.promise, [])
    world.take('a1', { lane: 'a' })
    world.take('a2', { lane: 'a' })
    await turns()
    const stopped = world.processor.stop()
    go.resolve()
    await stopped
    expect(world.states()).toEqual(['processed', 'waiting'])
    await world.processor.kick()
    expect(world.states()).toEqual(['processed', 'waiting'])
  })
})

describe('while the store is away', () => {
  it('it stays due, and is processed when the store is back', async () => {
    const world = new World()
    world.storeIsAway = true
    world.take('a')
    await world.processor.settled('a', 1000)
    await world.processor.kick()
    expect(world.entry('a')).toMatchObject({ state: 'waiting', tries: 0 })
    world.storeIsAway = false
    await world.processor.kick()
    expect(world.entry('a').state).toBe('processed')
  })
})

describe('while others hold or change what it needs in the store', () => {
  it('it waits longer each time, says why, is counted, and holds up nobody', async () => {
    const world = new World()
    world.settling = async (id) => {
      if (id === 'a1') throw contended()
    }
    for (const id of ['a1', 'a2', 'b1']) world.add(id, { lane: id[0] ?? '' })
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed', 'processed'])
    const { tries, lastError, dueAt } = world.entry('a1')
    expect([tries, lastError]).toEqual([1, 'the store is contended: a run changed'])
    expect(dueAt).toBe(world.now + 1000)
    await world.processor.kick()
    expect(world.acted.filter((id) => id === 'a1')).toHaveLength(1)
    world.now += 1000
    await world.processor.kick()
    expect(world.entry('a1')).toMatchObject({ tries: 2, dueAt: world.now + 2000 })
    expect(world.putOff).toEqual(['contended', 'contended'])
  })

  it('for a day it is given up, and says so', async () => {
    const world = new World()
    world.settling = () => Promise.reject(contended())
    const { receivedAt } = world.add('a')
    for (let n = 0; world.entry('a').state === 'waiting' && n < 1000; n++) {
      await world.processor.kick()
      world.now = world.entry('a').dueAt ?? world.now
    }
    expect(world.entry('a')).toMatchObject({ state: 'failed', reason: 'store-contended' })
    expect(world.now - receivedAt).toBeGreaterThan(24 * 3_600_000)
  })

  it('a sweep goes on without what takes long, and does not begin it twice', async () => {
    const world = new World()
    const go = Promise.withResolvers<void>()
    world.settling = (id) => (id === 'slow' ? go.promise : Promise.resolve())
    world.add('slow')
    const first = world.processor.kick()
    await turns()
    world.timers.fire()
    await first
    world.add('late')
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed'])
    go.resolve()
    await world.processor.stop()
    expect(world.states()).toEqual(['processed', 'processed'])
    expect(world.acted).toEqual(['slow', 'late'])
  })
})

describe('while GitHub cannot be asked', () => {
  it('it waits longer each time, up to five minutes, and is decided in the end', async () => {
    const world = new World()
    world.decide = () => {
      throw limited()
    }
    world.add('a')
    const pauses: number[] = []
    for (let n = 0; n < 11; n++) {
      await world.processor.kick()
      pauses.push((world.entry('a').dueAt ?? 0) - world.now)
      world.now = world.entry('a').dueAt ?? 0
    }
    expect(pauses.slice(0, 4)).toEqual([1000, 2000, 4000, 8000])
    expect(pauses.slice(-2)).toEqual([300_000, 300_000])
    expect(world.entry('a').lastError).toBe('GitHub could not be asked')
    world.decide = () => []
    await world.processor.kick()
    expect(world.entry('a').state).toBe('processed')
  })

  it('because of a limit it is not asked before the time it named', async () => {
    const world = new World()
    world.decide = () => {
      throw limited(world.now + 3_600_000)
    }
    world.add('a')
    await world.processor.kick()
    expect(world.entry('a').dueAt).toBe(world.now + 3_600_000)
    await world.processor.kick()
    expect(world.acted).toEqual(['a'])
  })

  it('for a day it is given up, and says so', async () => {
    const world = new World()
    world.decide = () => {
      throw limited()
    }
    const { receivedAt } = world.add('a')
    for (let n = 0; world.entry('a').state === 'waiting' && n < 1000; n++) {
      await world.processor.kick()
      world.now = world.entry('a').dueAt ?? world.now
    }
    expect(world.entry('a')).toMatchObject({ state: 'failed', reason: 'github-unavailable' })
    expect(world.now - receivedAt).toBeGreaterThan(24 * 3_600_000)
  })

  it('a webhook of long ago is not given up at its first try', async () => {
    const world = new World()
    world.decide = () => {
      throw limited()
    }
    world.add('a')
    world.now += 48 * 3_600_000
    await world.processor.kick()
    expect(world.entry('a')).toMatchObject({ state: 'waiting', tries: 1 })
  })
})

describe('a fault of ours', () => {
  it('is tried five times, then given up, and does not hold up its lane', async () => {
    const world = new World()
    world.decide = ({ webhookId }) => {
      if (webhookId === 'bad') throw new Error('a bug')
      return []
    }
    world.add('bad', { lane: 'a' })
    world.add('next', { lane: 'a' })
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed'])
    for (let n = 0; world.entry('bad').state === 'waiting' && n < 10; n++) {
      await world.processor.kick()
      world.now += 3_600_000
    }
    expect(world.entry('bad')).toMatchObject({ state: 'failed', reason: 'internal-error' })
    expect(world.acted.filter((id) => id === 'bad')).toHaveLength(5)
  })
})
