/**
 * Goal: the messages of one run are sent in the order in which they were published. They do not
 * wait for a message that will not be sent soon, and none waits forever.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { AttemptEnd } from '../../../src/domain/outbox/outcome.ts'
import { defaultPublishing } from '../../../src/domain/outbox/schedule.ts'
import type { Announcement } from '../../../src/domain/run.ts'
import type { LeasedDelivery } from '../../../src/store/outbox-store.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { holderOf } from '../claims.ts'
import { announced, noAnswer, ManualPublisher } from './manual-publisher.ts'
import { TestSubject } from '../test-subject.ts'
import { minute, openWorld, second, type OpenStore, type World } from '../world.ts'

const silent: Announcement = {
  ...announced,
  anchorPer: null,
  statusContext: null,
  checkName: null,
}
const trouble = { code: 'http_502', text: 'bad gateway' }
const refused: AttemptEnd = { what: 'permanent', trouble }

export function messageOrder(open: OpenStore): void {
  let world: World
  let publisher: ManualPublisher
  beforeEach(async () => {
    world = await openWorld(open)
    publisher = new ManualPublisher(world)
  })
  afterEach(() => world.close())

  const outbox = () => world.store.outbox
  const claim = (): Promise<ClaimAnswer> =>
    new TestSubject(world, { announcement: silent }).claim('a')

  async function publish(held: ClaimAnswer, name: string): Promise<Delivery> {
    const { runId, leaseHash } = holderOf(held)
    const channel = name.startsWith('r') ? 'github-review' : 'github-comment'
    const output = { name, channel, content: { form: 'text', body: name } } as const
    const request = { runId, leaseHash, actor: 'test', ...output, rightsOf: () => allRights }
    return (await outbox().publish(request, null)).delivery
  }

  /** Publishes all of them in the same millisecond. */
  async function burst(names: readonly string[], held?: ClaimAnswer): Promise<ClaimAnswer> {
    const by = held ?? (await claim())
    for (const name of names) await publish(by, name)
    return by
  }

  const named = (leased: readonly LeasedDelivery[]): string[] =>
    leased.map(({ delivery }) => delivery.name)

  async function sendAll(): Promise<string[]> {
    const names: string[] = []
    for (;;) {
      const leased = await publisher.lease()
      if (leased.length === 0) return names
      for (const one of leased) await publisher.send(one)
      names.push(...named(leased))
    }
  }

  it('comments and reviews of one run are leased one after the other, in order', async () => {
    const names = ['c1', 'r2', 'c3', 'c4', 'r5', 'c6', 'c7', 'c8']
    await burst(names)
    expect(await sendAll()).toEqual(names)
  })

  it('a later message says that it waits for an earlier one of its run', async () => {
    const held = await claim()
    expect(await publish(held, 'c1')).toMatchObject({ wait: 'due' })
    expect(await publish(held, 'c2')).toMatchObject({ wait: 'order' })
    await sendAll()
    expect(await publish(held, 'c3')).toMatchObject({ wait: 'due' })
  })

  it('a message waits for an earlier one that is being sent', async () => {
    const held = await burst(['c1'])
    const [c1] = await publisher.lease()
    const attempt = await publisher.begun(c1!)
    await burst(['c2', 'c3'], held)
    expect(await publisher.lease()).toEqual([])
    await publisher.end(c1!, attempt, { what: 'sent', providerId: '1', url: null, hash: 'h' })
    expect(await sendAll()).toEqual(['c2', 'c3'])
  })

  it('the messages of one run do not wait for another run', async () => {
    await burst(['a1', 'a2'])
    await burst(['b1', 'b2'])
    expect(named(await publisher.lease()).toSorted()).toEqual(['a1', 'b1'])
  })

  const retry = (after: number): AttemptEnd => ({ what: 'retry', trouble, after })

  it.each(['refused for good', 'skipped by an operator', 'confirmed by an operator'])(
    'a message that is closed lets the next one go: %s',
    async (how) => {
      const held = await burst(['c1', 'c2', 'c3'])
      if (how === 'refused for good') await publisher.send((await publisher.lease())[0]!, refused)
      else {
        const { id } = await publisher.named(holderOf(held).runId, 'c1')
        if (how.startsWith('skipped')) await outbox().skip(id, 'not wanted', 'ann', null)
        else await outbox().confirm(id, '17', 'ann', null)
      }
      expect(await sendAll()).toEqual(['c2', 'c3'])
    },
  )

  it.each(['skipped', 'confirmed'])('a waiting message that is %s is passed over', async (how) => {
    const held = await burst(['c1', 'c2', 'c3'])
    const { id } = await publisher.named(holderOf(held).runId, 'c2')
    if (how === 'skipped') await outbox().skip(id, 'not wanted', 'ann', null)
    else await outbox().confirm(id, '17', 'ann', null)
    const [c1, ...others] = await publisher.lease()
    expect(others).toEqual([])
    await publisher.send(c1!)
    expect(await sendAll()).toEqual(['c3'])
  })

  it('a message waits for an earlier one that is soon tried again', async () => {
    await burst(['c1', 'c2'])
    await publisher.send((await publisher.lease())[0]!, retry(world.store.now()))
    expect(await publisher.lease()).toEqual([])
    world.clock.move(2 * second)
    expect(await sendAll()).toEqual(['c1', 'c2'])
  })

  it('a message does not wait for an earlier one that is tried again much later', async () => {
    await burst(['c1', 'c2', 'c3'])
    await publisher.send((await publisher.lease())[0]!, retry(world.store.now() + minute))
    expect(await sendAll()).toEqual(['c2', 'c3'])
    world.clock.move(2 * minute)
    expect(await sendAll()).toEqual(['c1'])
  })

  it('a message does not wait for an earlier one that fails again and again', async () => {
    await burst(['c1', 'c2'])
    const taken: string[] = []
    for (let tries = 0; !taken.includes('c2') && tries < 10; tries += 1) {
      const [leased] = await publisher.lease(1)
      if (leased !== undefined) taken.push(leased.delivery.name)
      if (leased !== undefined) await publisher.send(leased, retry(0))
      world.clock.move(8 * second)
    }
    expect(taken).toEqual(['c1', 'c1', 'c1', 'c1', 'c2'])
  })

  it('a held message blocks no other, and later does not wait itself', async () => {
    await burst(['c1', 'c2', 'c3'])
    const [c1] = await publisher.lease()
    await publisher.send(c1!, noAnswer)
    const [again] = await publisher.lease()
    const found = { what: 'looked', found: [], unverified: true, hash: 'h', looks: 2 } as const
    await outbox().record(again!.lease, found)
    expect(await sendAll()).toEqual(['c2', 'c3'])
    await outbox().retry(c1!.delivery.id, 'ann', null)
    expect(await sendAll()).toEqual(['c1'])
  })

  it('a block of their identity keeps their order', async () => {
    await burst(['c1', 'c2', 'c3'])
    const until = world.store.now() + 10 * minute
    await publisher.send((await publisher.lease())[0]!, { what: 'rate_limited', until, trouble })
    expect(await publisher.lease()).toEqual([])
    world.clock.move(10 * minute)
    expect(await sendAll()).toEqual(['c1', 'c2', 'c3'])
  })

  it('a message that a lost process had leased continues when its lease is over', async () => {
    await burst(['c1', 'c2'])
    await publisher.begun((await publisher.lease())[0]!)
    world.clock.move(defaultPublishing.deliveryLeaseMs)
    const [c1] = await publisher.lease()
    const found = [{ providerId: '7', url: null, current: true }]
    const looked = { what: 'looked', found, unverified: false, hash: 'h', looks: 2 } as const
    await outbox().record(c1!.lease, looked)
    expect(await sendAll()).toEqual(['c2'])
  })

  it('a message that cannot be prepared lets the next one go', async () => {
    await burst(['c1', 'c2'])
    for (let n = 0; n <= defaultPublishing.preparationsMax; n += 1) {
      const [c1] = await publisher.lease()
      if (c1?.delivery.name === 'c1') await outbox().notePreparation(c1.lease, 'begins')
      world.clock.move(defaultPublishing.deliveryLeaseMs)
    }
    expect(await sendAll()).toEqual(['c2'])
  })

  it('failed messages that are retried together go in the order of publication', async () => {
    const names = ['c1', 'c2', 'c3', 'c4']
    const held = await claim()
    for (const name of names) {
      await publish(held, name)
      world.clock.move(1)
    }
    for (let n = 0; n < names.length; n += 1)
      await publisher.send((await publisher.lease())[0]!, refused)
    expect(await outbox().retryMany({}, 'ann', null)).toBe(4)
    expect(await sendAll()).toEqual(names)
  })

  it('the time in which a message waits for another does not count to its deadline', async () => {
    const held = await burst(['c1', 'c2'])
    const { runId } = holderOf(held)
    const before = await publisher.named(runId, 'c2')
    world.clock.move(30 * minute)
    await publisher.send((await publisher.lease())[0]!)
    const after = await publisher.named(runId, 'c2')
    expect(after.deadlineAt - before.deadlineAt).toBe(30 * minute)
  })

  it('a message that was never released becomes due by itself', async () => {
    await burst(['c1', 'c2'])
    world.clock.move(defaultPublishing.deadlineMs.message)
    expect(named(await publisher.lease()).toSorted()).toEqual(['c1', 'c2'])
  })

  it('after a restore each message is looked for by itself', async () => {
    await burst(['c1', 'c2', 'c3'])
    await outbox().noteRestore()
    const leased = await publisher.lease()
    expect(named(leased).toSorted()).toEqual(['c1', 'c2', 'c3'])
    for (const { delivery } of leased) expect(delivery.wait).toBe('in_doubt')
  })
}
