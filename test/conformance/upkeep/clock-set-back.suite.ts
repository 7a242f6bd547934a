/**
 * Goal: after a clock that was ahead is corrected, nothing waits for as long as the clock was
 * ahead: neither the lease of a lost holder, nor a run without a worker, a retry, a block or a
 * webhook.
 * Method: all times are set while the clock is a month ahead; then it is set back, and time
 * continues.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { grant, pullRequestClaim } from '../claims.ts'
import { announced, identity, noAnswer, ManualPublisher } from '../outbox/manual-publisher.ts'
import { TestSubject } from '../test-subject.ts'
import { allDue, received } from '../inbox/webhooks.ts'
import { day, minute, openWorld, second, type OpenStore, type World } from '../world.ts'

export function clockSetBack(open: OpenStore): void {
  let world: World
  beforeEach(async () => {
    world = await openWorld(open)
    await world.store.upkeep.beat()
  })
  afterEach(() => world.close())

  async function setBack(): Promise<void> {
    world.clock.move(-30 * day)
    await world.store.upkeep.beat()
  }

  async function live(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed++) {
      world.clock.move(second)
      await world.store.upkeep.beat()
    }
  }

  it('a lease ends one lease later at the latest, and its holder keeps it until then', async () => {
    const subject = new TestSubject(world)
    const leaseMs = 10 * second
    await subject.claim('a', { lease: grant({ ms: leaseMs }), leaseMs })
    await setBack()
    await live(9)
    expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
    await live(1)
    expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed' })
  })

  it('an absence that only the clock showed gives no grace in the future', async () => {
    const subject = new TestSubject(world)
    const leaseMs = 10 * second
    await subject.claim('a', { lease: grant({ ms: leaseMs }), leaseMs })
    world.clock.move(80 * second)
    await world.store.upkeep.beat()
    world.clock.move(-80 * second)
    await world.store.upkeep.beat()
    await live(10)
    expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed' })
  })

  it('a run without a worker fails at the right time, and the sweeper sees it', async () => {
    const subject = new TestSubject(world, { pendingTimeoutMs: 5 * second })
    const { run } = await subject.claim('a', { lease: null })
    await setBack()
    await live(5)
    expect(await world.store.runs.due(10)).toContain(run!.id)
    expect(await world.store.runs.sweep(run!.id)).toMatchObject({ errorCode: 'no_worker' })
  })

  it('a retry, a look and a deadline are near again, and a look begins early enough', async () => {
    const subject = new TestSubject(world, { announcement: announced })
    const { run } = await subject.claim('a')
    const publisher = new ManualPublisher(world)
    const anchor = await publisher.leaseNamed('anchor')
    await publisher.send(anchor, noAnswer)
    await setBack()
    const now = world.store.now()
    const { dueAt, deadlineAt, protocol } = await publisher.named(run!.id, 'anchor')
    expect(dueAt).toBeLessThanOrEqual(now + minute)
    expect(deadlineAt).toBeLessThanOrEqual(now + 7 * day)
    expect(protocol.doubt!.since).toBeLessThanOrEqual(now)
  })

  it('a block is as long as it was meant to be', async () => {
    await world.store.outbox.blockIdentity(
      identity,
      world.store.now() + minute,
      'limit',
      'publisher',
    )
    await setBack()
    const until = await world.store.outbox.blockedUntil(identity)
    expect(until).toBeGreaterThan(world.store.now() + minute - second)
    expect(until).toBeLessThanOrEqual(world.store.now() + minute)
  })

  it('a block that was set by a clock that was right is left as it is', async () => {
    const until = world.store.now() + 40 * day
    await world.store.outbox.blockIdentity(identity, until, 'limit', 'publisher')
    world.clock.move(30 * second)
    await world.store.upkeep.beat()
    world.clock.move(-20 * second)
    await world.store.upkeep.beat()
    expect(await world.store.outbox.blockedUntil(identity)).toBe(until)
  })

  it('a process that pauses leaves a block that another process sets unchanged', async () => {
    world.clock.move(-10 * minute)
    const leasing = world.store.outbox.lease({ limit: 1, progressMax: 0 })
    world.clock.move(30 * second)
    const until = world.store.now() + minute
    await world.store.outbox.blockIdentity(identity, until, 'limit', 'publisher')
    await leasing
    expect(await world.store.outbox.blockedUntil(identity)).toBe(until)
  })

  it('all blocks of many identities are as long as they were meant to be', async () => {
    const { outbox } = world.store
    const until = world.store.now() + minute
    const all = Array.from({ length: 1001 }, (_, n) => `id:${1000 + n}`)
    await Promise.all(all.map((id) => outbox.blockIdentity(id, until, 'limit', 'publisher')))
    await setBack()
    for (const id of [all[0]!, all[1000]!]) {
      expect(await outbox.blockedUntil(id)).toBeLessThanOrEqual(world.store.now() + minute)
    }
  })

  it('a head that GitHub has to be asked about is asked about within a minute', async () => {
    const subject = new TestSubject(world)
    await subject.claim('a')
    const { run } = await subject.claim('b')
    await setBack()
    await live(60)
    expect(await world.store.catchUp.takeHeadCheck()).toMatchObject({ run: { id: run!.id } })
  })

  it('a repository’s name that GitHub gave can be given away', async () => {
    const { store } = world
    await store.repositories.learn('acme/told', 111, 'now', 'test')
    await setBack()
    await live(1)
    await store.repositories.learn('acme/told', 112, store.now(), 'test')
    expect(await store.repositories.getByName('acme/told')).toMatchObject({ githubId: 112 })
  })

  it('a repository that was checked is not the last one forever', async () => {
    const { store } = world
    const [ahead, other] = [101, 102]
    for (const githubId of [ahead, other]) {
      const repo = `acme/r${githubId}`
      await store.repositories.learn(repo, githubId, 'now', 'test')
      await store.runs.claim(pullRequestClaim({ repo, pr: 1, head: 'a' }), null)
    }
    await store.catchUp.noteLooked(ahead)
    await setBack()
    await live(1)
    await store.catchUp.noteLooked(other)
    const { items } = await store.catchUp.repositoriesInUse(0, 1)
    expect(items.map(({ githubId }) => githubId)).toEqual([ahead])
  })

  it('a webhook that waits is processed within a minute', async () => {
    const entry = await received(world.store)
    await world.store.inbox.postpone(entry.id, world.store.now() + 5 * second, 'not now')
    await setBack()
    await live(60)
    const due = await allDue(world.store)
    expect(due.map(({ id }) => id)).toEqual([entry.id])
  })
}
