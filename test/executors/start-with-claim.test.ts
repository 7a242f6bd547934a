/**
 * Goal: a run starts in the transaction of its claim while an executor of the process is free, and
 * the promises about slots and order hold all the same.
 * Method: a real store in memory behind one that the test can make wait, refuse and fail. The time
 * since the store was last asked is the test's own, so a slow machine changes nothing.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock, type Clock } from '../../src/clock.ts'
import type { Claim } from '../../src/domain/claim.ts'
import { StoreUnavailableError } from '../../src/errors.ts'
import type { RunPolicy } from '../../src/domain/run.ts'
import { openStore } from '../../src/open-store.ts'
import type { RunContext } from '../../src/run-handler.ts'
import { hashLeaseToken } from '../../src/secrets.ts'
import type { ClaimAnswer, ExecutorOffers, Store } from '../../src/store.ts'
import { workWorld, type WorkWorld } from './work-world.ts'

let inner: Store
let world: WorkWorld
/** Whether each claim brought an executor, in order. */
let offered: boolean[]
let claimInstead:
  ((claim: () => Promise<ClaimAnswer>, begin: () => unknown) => Promise<ClaimAnswer>) | null
/** Resolves when the store may answer which types have runs, and which runs are leased. */
let looking: Promise<unknown>
/** Resolves when an answer about types may arrive. The store was asked before. */
let answering: Promise<unknown>
/** How often the store was asked which types have runs, and how often its answer arrived. */
let asked: number
let looks: number
let leasing: { wait: Promise<unknown>; asked: number }
let began: string[]
let nowMs: number
let open: Map<string, () => void>

beforeEach(async () => {
  inner = await openStore({ database: { kind: 'sqlite', path: ':memory:' } })
  offered = []
  claimInstead = null
  looking = Promise.resolve()
  answering = Promise.resolve()
  asked = 0
  looks = 0
  leasing = { wait: Promise.resolve(), asked: 0 }
  began = []
  nowMs = 0
  open = new Map()
})

afterEach(async () => {
  await world.close()
  await inner.close()
})

const clock: Clock = { ...systemClock, monotonicMs: () => nowMs }

function watchedStore(): Store {
  const claim: Store['runs']['claim'] = (asked, key, offers) => {
    const watched: ExecutorOffers | undefined = offers && {
      offer: (one: Claim) => {
        const startable = offers.offer(one)
        offered.push(startable.executor !== undefined)
        return startable
      },
      withdraw: () => offers.withdraw(),
    }
    const reallyClaim = () => inner.runs.claim(asked, key, watched)
    return claimInstead === null
      ? reallyClaim()
      : claimInstead(reallyClaim, () => watched?.offer(asked))
  }
  const availableTypes: Store['runs']['availableTypes'] = async (...args) => {
    await looking
    const types = await inner.runs.availableTypes(...args)
    asked++
    await answering
    looks++
    return types
  }
  const leaseMany: Store['runs']['leaseMany'] = async (request) => {
    leasing.asked++
    await leasing.wait
    return await inner.runs.leaseMany(request)
  }
  const instead: Record<string | symbol, unknown> = { claim, availableTypes, leaseMany }
  const runs = new Proxy(inner.runs, {
    get: (target, name) => {
      if (Object.hasOwn(instead, name)) return instead[name]
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return new Proxy(inner, {
    get: (target, name) => {
      if (name === 'runs') return runs
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

async function handler(run: RunContext): Promise<void> {
  began.push(run.key)
  await new Promise<void>((resolve) => {
    open.set(run.key, resolve)
    run.signal.addEventListener('abort', () => resolve())
  })
}

/** Nothing is claimed before the test does it: the end of a run is a reason to look for others. */
async function start(concurrency: number, policy: Partial<RunPolicy> = {}): Promise<void> {
  const store = watchedStore()
  world = await workWorld({ handlers: { job: handler }, concurrency, store, clock, policy })
  // Until it has looked once, it does not know whether older runs wait. The second look begins
  // after it has taken note of the first.
  await expect.poll(() => looks).toBeGreaterThan(1)
}

async function once(key: string): Promise<void> {
  const { run } = await world.claim('job', key)
  await expect.poll(() => open.has(key)).toBe(true)
  open.get(key)?.()
  await world.ended(run?.id ?? '')
}

const begun = (...keys: readonly string[]) => expect.poll(() => began).toEqual(keys)

it('the claim brings the executor, and its answer is that of a pending run', async () => {
  await start(2)
  const { run } = await world.claim('job', 'a')
  expect([offered, run?.state]).toEqual([[true], 'pending'])
  await begun('a')
  const types = (await world.audit(run?.id ?? '')).map(({ type }) => type)
  expect(types).toEqual(['run.claimed', 'run.leased'])
  open.get('a')?.()
  expect((await world.ended(run?.id ?? '')).state).toBe('succeeded')
})

it('no more runs than slots, and a run that waits comes before a later one', async () => {
  await start(1)
  await world.claim('job', 'a')
  await begun('a')
  await world.claim('job', 'b')
  expect(offered.at(-1)).toBe(false)
  open.get('a')?.()
  // This one arrives while the slot of the first is free again, or is about to be.
  for (let i = 0; i < 5; i++) await world.claim('job', `c${i}`)
  await begun('a', 'b')
  open.get('b')?.()
  await begun('a', 'b', 'c0')
})

it('the slot is free again if the claim starts nothing', async () => {
  await start(1)
  const [first, second] = await Promise.all([world.claim('job', 'a'), world.claim('job', 'a')])
  expect([first.reason, second.reason].toSorted()).toEqual(['duplicate', 'new'])
  await begun('a')
  open.get('a')?.()
  await world.ended(first.run?.id ?? '')
  offered = []
  // The key is done, so none of these claims starts anything.
  await expect
    .poll(async () => {
      expect((await world.claim('job', 'a')).reason).toBe('duplicate')
      return offered.at(-1)
    })
    .toBe(true)
  await world.claim('job', 'b')
  await begun('a', 'b')
})

it('the slot is free again if the store fails', async () => {
  await start(1)
  claimInstead = (_claim, begin) => {
    begin()
    return Promise.reject(new StoreUnavailableError('store_unreachable', 'away'))
  }
  await expect(world.claim('job', 'a')).rejects.toMatchObject({ code: 'store_unreachable' })
  claimInstead = null
  await world.claim('job', 'b')
  expect(offered).toEqual([true, true])
  await begun('b')
})

it('a run whose claim was under way at the stop is given back, uncounted', async () => {
  await start(1)
  const answered = Promise.withResolvers<null>()
  claimInstead = async (claim) => {
    const answer = await claim()
    await answered.promise
    return answer
  }
  const claimed = world.claim('job', 'a')
  await expect.poll(() => offered).toEqual([true])
  const stopped = world.work.stop(0)
  answered.resolve(null)
  const id = (await claimed).run?.id ?? ''
  expect(await stopped).toBeGreaterThanOrEqual(0)
  await expect.poll(async () => (await inner.runs.get(id))?.state).toBe('pending')
  expect((await inner.runs.get(id))?.attempt).toBe(1)
})

it('what the store said half a second ago counts no more', async () => {
  // Otherwise the end of each run is a reason to look, because another one may wait behind it.
  await start(1, { onNewer: 'supersede' })
  const answered = Promise.withResolvers<null>()
  looking = answered.promise
  nowMs += 499
  await once('a')
  nowMs += 1
  await once('b')
  answered.resolve(null)
  expect(offered).toEqual([true, false])
})

it('a run that found no slot begins when one is free, without another look', async () => {
  await start(1, { onNewer: 'supersede' })
  await world.claim('job', 'a')
  await begun('a')
  const [arrives, ends] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()]
  answering = arrives.promise
  const before = asked
  await expect.poll(() => asked).toBeGreaterThan(before)
  // This look saw no run that waits, and its answer arrives after there is one.
  const leases = leasing.asked
  await world.claim('job', 'b')
  await expect.poll(() => leasing.asked).toBeGreaterThan(leases)
  looking = ends.promise
  const seen = looks
  arrives.resolve(null)
  await expect.poll(() => looks).toBeGreaterThan(seen)
  open.get('a')?.()
  await begun('a', 'b')
  ends.resolve(null)
})

it('no slot is reserved while a lease that may fill them all is under way', async () => {
  await start(2)
  const held = await world.runs.claim({ kind: 'job', type: 'job', key: 'given back' }, 'test')
  const answered = Promise.withResolvers<null>()
  leasing = { wait: answered.promise, asked: 0 }
  const [id, token] = [held.run?.id ?? '', held.lease?.token ?? '']
  await world.runs.release(id, hashLeaseToken(token), 'test')
  await expect.poll(() => leasing.asked).toBe(1)
  offered = []
  await Promise.all(['a', 'b', 'c'].map((key) => world.claim('job', key)))
  expect(offered).toEqual([false, false, false])
  answered.resolve(null)
  await expect.poll(() => began.length).toBe(2)
  expect(began[0]).toBe('given back')
})

it('two hundred claims at once are all done, each once', async () => {
  world = await workWorld({
    handlers: {
      job: async (run) => {
        began.push(run.key)
        await run.step('a', () => 1)
      },
    },
    concurrency: 8,
    store: watchedStore(),
  })
  const keys = Array.from({ length: 200 }, (_, i) => `k${i}`)
  const claimed = await Promise.all(keys.map((key) => world.claim('job', key)))
  for (const { run } of claimed) {
    expect((await world.ended(run?.id ?? '')).state).toBe('succeeded')
  }
  expect(began.toSorted()).toEqual(keys.toSorted())
})
