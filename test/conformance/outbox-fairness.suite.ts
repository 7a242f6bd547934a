/**
 * Goal: a run that publishes very much delays itself, and no other run of its identity: neither in
 * the queue, nor by using up all that the identity may write.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { queueName } from '../../src/domain/outbox/queue.ts'
import { allRights } from '../../src/domain/outbox/publish-rights.ts'
import { defaultPublishing } from '../../src/domain/outbox/schedule.ts'
import type { Announcement } from '../../src/domain/run.ts'
import type { BeginAnswer, LeasedDelivery } from '../../src/outbox-store.ts'
import type { ClaimAnswer } from '../../src/store.ts'
import { completion, holderOf } from './claims.ts'
import { announced, identity, OutboxHand, sentEnd } from './outbox-hand.ts'
import { TestSubject } from './test-subject.ts'
import { openWorld, second, type OpenStore, type World } from './world.ts'

const onlyAnchor: Announcement = { ...announced, statusContext: null, checkName: null }
const nothing: Announcement = { ...onlyAnchor, anchorPer: null }
const spaced = { spacingMs: second, perMinute: 0, perHour: 0 }
const room = { limit: 1, progressMax: 1 }
const everyMs = defaultPublishing.ownOutputEveryMs

export function fairness(open: OpenStore): void {
  let world: World
  let hand: OutboxHand
  beforeEach(async () => {
    world = await openWorld(open)
    hand = new OutboxHand(world.store)
  })
  afterEach(() => world.close())

  const outbox = () => world.store.outbox
  const claim = (announcement: Announcement): Promise<ClaimAnswer> =>
    new TestSubject(world, { announcement }).claim('a')

  async function publish(held: ClaimAnswer, name: string): Promise<string> {
    const { runId, leaseHash } = holderOf(held)
    const said = { name, channel: 'github-comment', content: { form: 'text', body: name } } as const
    const request = { runId, leaseHash, actor: 'test', ...said, rightsOf: () => allRights }
    return (await outbox().publish(request, null)).delivery.id
  }

  async function publishMany(held: ClaimAnswer, count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      await publish(held, `c${n}`)
      world.clock.move(1)
    }
  }

  async function begin(leased: LeasedDelivery, limits = spaced): Promise<BeginAnswer> {
    const begun = await hand.begin(leased, { limits })
    if (begun.result === 'begun') await hand.end(leased, begun.attempt, sentEnd())
    if (begun.result === 'budget') {
      const queue = queueName(identity, leased.delivery.channel)
      await outbox().record(leased.hold, { what: 'budget', until: begun.until, queue })
    }
    return begun
  }

  async function queueAll(): Promise<void> {
    for (const leased of await outbox().lease({ limit: 100, progressMax: 0, queuedMax: 0 })) {
      await begin(leased)
    }
  }

  /** One that publishes ten at once, of which the first is sent; the others wait. */
  async function flood(): Promise<ClaimAnswer> {
    const busy = await claim(nothing)
    await publishMany(busy, 10)
    await queueAll()
    return busy
  }

  /** What is sent next, by name, one a second. */
  async function sentNext(count: number): Promise<string[]> {
    const names: string[] = []
    for (let n = 0; n < count; n += 1) {
      world.clock.move(second)
      const [leased] = await outbox().lease(room)
      if (leased === undefined) continue
      expect(await begin(leased)).toMatchObject({ result: 'begun' })
      names.push(leased.delivery.name)
    }
    return names
  }

  it('what a run publishes stands behind itself, not before another run', async () => {
    await flood()
    world.clock.move(second)
    await claim(onlyAnchor)
    const other = await claim(nothing)
    await publish(other, 'other 0')
    await publish(other, 'other 1')
    await queueAll()
    const names = await sentNext(4)
    expect(names.slice(0, 2).toSorted()).toEqual(['anchor', 'other 0'])
    expect(names.slice(2).toSorted()).toEqual(['c1', 'other 1'])
  })

  it("a run's own state does not stand behind what it publishes", async () => {
    const busy = await claim(onlyAnchor)
    await begin((await outbox().lease(room))[0]!)
    await publishMany(busy, 10)
    await queueAll()
    await world.store.completeRun(completion(busy), null)
    await queueAll()
    expect((await sentNext(2)).toSorted()).toEqual(['anchor', 'c0'])
  })

  it('nothing is held back while nobody else waits', async () => {
    await flood()
    expect(await sentNext(9)).toEqual(Array.from({ length: 9 }, (_, n) => `c${n + 1}`))
  })

  it('one that is tried again keeps its place', async () => {
    const busy = await claim(nothing)
    await publish(busy, 'first')
    const id = await publish(busy, 'second')
    const before = (await outbox().delivery(id))?.waitsSince
    const leased = await outbox().lease({ limit: 2, progressMax: 0 })
    const later = leased.find(({ delivery }) => delivery.id === id)!
    const trouble = { code: 'http_502', text: 'bad gateway' }
    await hand.send(later, { what: 'retry', trouble, after: null })
    expect(await outbox().delivery(id)).toMatchObject({ status: 'PENDING', waitsSince: before })
    expect(before).toBeGreaterThan(world.store.now())
  })

  it('ahead of its turn a run uses half of what its identity may write', async () => {
    const limits = { spacingMs: 0, perMinute: 4, perHour: 0 }
    const busy = await claim(nothing)
    await publishMany(busy, 4)
    const results: string[] = []
    for (const leased of await hand.lease()) results.push((await begin(leased, limits)).result)
    expect(results).toEqual(['begun', 'begun', 'begun', 'budget'])
    expect(await outbox().lease(room)).toEqual([])
    await claim(onlyAnchor)
    const [anchor] = await outbox().lease(room)
    expect(await begin(anchor!, limits)).toMatchObject({ result: 'budget', why: 'queue' })
    const [turn] = await outbox().lease(room)
    expect(turn).toMatchObject({ delivery: { name: 'anchor' } })
    expect(await begin(turn!, limits)).toMatchObject({ result: 'begun' })
    // Its turn comes by and by, whatever it used before.
    world.clock.move(3 * everyMs)
    expect(await outbox().lease(room)).toMatchObject([{ delivery: { name: 'c3' } }])
  })
}
