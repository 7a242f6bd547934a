/**
 * Goal: after a time in which holders could not reach the store, leases that expired in it get one
 * more full lease before anything is taken from their holders, and leases that expired before do
 * not.
 * Method: `beat` is called as a server does, then not at all for a while. Each test stays below the
 * minute and a half after which a database's clock counts as unknown.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { grant, holderOf, leaseRequest } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { openWorld, second, type OpenStore, type World } from '../world.ts'

const leaseMs = 10 * second

export function continuity(open: OpenStore): void {
  let world: World
  beforeEach(async () => {
    world = await openWorld(open)
    await world.store.upkeep.beat()
  })
  afterEach(() => world.close())

  const short = (holder: 'caller' | 'worker') => grant({ ms: leaseMs, holder })

  async function claimed(): Promise<TestSubject> {
    const subject = new TestSubject(world)
    await subject.claim('a', { lease: short('caller'), leaseMs })
    return subject
  }

  /** Lets time pass while a server serves the store. */
  async function live(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed++) {
      world.clock.move(second)
      await world.store.upkeep.beat()
    }
  }

  async function absent(seconds: number): Promise<void> {
    world.clock.move(seconds * second)
    await world.store.upkeep.beat()
  }

  it('without an absence a lease is over at its end', async () => {
    const subject = await claimed()
    await live(10)
    expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed' })
  })

  it('a lease that ran out in the absence lasts one lease longer', async () => {
    const subject = await claimed()
    await live(5)
    await absent(20)
    expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
    await live(9)
    expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
    await live(1)
    expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed' })
  })

  it('the first decision after the absence takes it into account', async () => {
    const subject = await claimed()
    world.clock.move(20 * second)
    expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
  })

  it('a lease that ran out before the absence gets nothing', async () => {
    const subject = await claimed()
    await live(12)
    await absent(20)
    expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed' })
  })

  it('a lease that ran out between two absences gets nothing from either', async () => {
    const early = await claimed()
    await absent(5)
    await live(12)
    await absent(5)
    expect(await early.claim('a')).toMatchObject({ reason: 'reclaimed' })
  })

  it('a second absence during the extra lease does not use it up', async () => {
    const subject = await claimed()
    await absent(15)
    await live(3)
    await absent(15)
    expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
    await live(6)
    expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
    await live(1)
    expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed' })
  })

  it('many short absences do not add up: a dead holder is found in bounded time', async () => {
    const subject = await claimed()
    let passed = 0
    let reason = 'duplicate'
    while (reason === 'duplicate' && passed < 80) {
      await live(6)
      await absent(3)
      passed += 9
      reason = (await subject.claim('a')).reason
    }
    // One lease, one more lease, and the absences in between.
    expect([reason, passed]).toEqual(['reclaimed', 27])
  })

  it('a renewal by a clock that is behind never shortens a lease', async () => {
    const subject = new TestSubject(world)
    const held = await subject.claim('a', { lease: short('caller'), leaseMs })
    world.clock.move(-30 * second)
    const renewed = await world.store.runs.heartbeat(holderOf(held), null)
    expect(renewed.expiresAt).toBe(held.lease!.expiresAt)
  })

  it('the sweeper waits as well before it gives a worker’s run back', async () => {
    const subject = new TestSubject(world)
    const { run } = await subject.claim('a', { lease: null, leaseMs })
    const request = leaseRequest({ runId: run!.id, grant: short('worker'), leaseMs })
    await world.store.runs.lease(request, null)
    await absent(20)
    expect(await world.store.runs.sweep(run!.id)).toBeNull()
    expect(await subject.state('a')).toBe('running')
    await live(10)
    expect(await world.store.runs.due(10)).toContain(run!.id)
    expect(await world.store.runs.sweep(run!.id)).toMatchObject({ state: 'pending', attempt: 2 })
  })

  it('a deadline or a wait for a worker that ended in the absence gets a lease more', async () => {
    const slow = new TestSubject(world, { timeoutMs: 8 * second })
    const held = await slow.claim('a', { lease: short('caller'), leaseMs })
    const waiting = new TestSubject(world, { pendingTimeoutMs: 8 * second })
    const pending = await waiting.claim('a', { lease: null, leaseMs })
    await absent(20)
    expect(await world.store.runs.sweep(held.run!.id)).toBeNull()
    expect(await world.store.runs.sweep(pending.run!.id)).toBeNull()
    await live(10)
    expect(await world.store.runs.sweep(held.run!.id)).toMatchObject({ errorCode: 'timeout' })
    expect(await world.store.runs.sweep(pending.run!.id)).toMatchObject({ errorCode: 'no_worker' })
  })

  it('a wait for a worker lasts longer by all of the absence', async () => {
    const subject = new TestSubject(world, { pendingTimeoutMs: 15 * second })
    const { run } = await subject.claim('a', { lease: null, leaseMs: 2 * second })
    await live(5)
    await absent(40)
    expect(await world.store.runs.sweep(run!.id)).toBeNull()
    await live(9)
    expect(await world.store.runs.sweep(run!.id)).toBeNull()
    await live(1)
    expect(await world.store.runs.due(10)).toContain(run!.id)
    expect(await world.store.runs.sweep(run!.id)).toMatchObject({ errorCode: 'no_worker' })
  })

  it('a caller’s run whose last chance was in the absence is not worker_lost at once', async () => {
    const subject = new TestSubject(world)
    const lease = grant({ ms: 2 * second })
    const { run } = await subject.claim('a', { lease, leaseMs: 2 * second })
    await live(3)
    await world.store.runs.sweep(run!.id)
    await absent(40)
    await world.store.runs.sweep(run!.id)
    expect(await subject.state('a')).toBe('running')
    await live(2)
    expect(await world.store.runs.sweep(run!.id)).toMatchObject({ errorCode: 'worker_lost' })
  })

  it('a pause shorter than three beats is no absence', async () => {
    const subject = await claimed()
    await live(8)
    await absent(2)
    expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed' })
  })
}
