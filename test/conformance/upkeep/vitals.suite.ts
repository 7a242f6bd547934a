/**
 * Goal: a store reports its condition: its first mode, its id, which server serves it, and what
 * waits too long.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { TestSubject } from '../test-subject.ts'
import { minute, openWorld, type OpenStore, type World } from '../world.ts'

export function vitals(open: OpenStore): void {
  let world: World
  beforeEach(async () => {
    world = await openWorld(open)
  })
  afterEach(() => world.close())

  it('are empty in a store in which nothing has happened', async () => {
    expect(await world.store.upkeep.vitals()).toEqual({
      mode: null,
      aliveAt: null,
      pending: { count: 0, more: false, oldestAt: null, types: [] },
      overdue: { count: 0, more: false },
    })
  })

  it('name the mode it began in and the last sign of life', async () => {
    await world.store.upkeep.recordMode('live')
    await world.store.upkeep.recordMode('sandbox')
    await world.store.upkeep.beat()
    const { mode, aliveAt } = await world.store.upkeep.vitals()
    expect(mode).toBe('live')
    expect(Math.abs(world.store.now() - (aliveAt ?? 0))).toBeLessThan(minute)
  })

  it('include an id that all who ask at once get, and that never changes', async () => {
    const { upkeep } = world.store
    const ids = await Promise.all(Array.from({ length: 8 }, () => upkeep.storeId()))
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(new Set([...ids, await upkeep.storeId()]).size).toBe(1)
    const another = await openWorld(open)
    expect(await another.store.upkeep.storeId()).not.toBe(ids[0])
    await another.close()
  })

  it('count what a worker could take, since when and of which types', async () => {
    const [one, two] = [new TestSubject(world), new TestSubject(world)]
    const { run } = await one.putInState('a', 'pending')
    world.clock.move(minute)
    await two.putInState('a', 'pending')
    await new TestSubject(world).putInState('a', 'running')
    const { pending } = await world.store.upkeep.vitals()
    expect(pending).toEqual({
      count: 2,
      more: false,
      oldestAt: run!.availableAt,
      types: [one.type, two.type].toSorted(),
    })
  })

  it('count what the sweeper should have seen a minute ago', async () => {
    await new TestSubject(world).putInState('a', 'pending')
    const due = 60 * minute
    world.clock.move(due + minute)
    expect((await world.store.upkeep.vitals()).overdue.count).toBe(0)
    world.clock.move(1)
    expect((await world.store.upkeep.vitals()).overdue.count).toBe(1)
  })
}
