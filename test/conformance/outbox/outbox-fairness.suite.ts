/**
 * Goal: a run that publishes very much delays only itself, and no other run of its identity:
 * neither in the queue, nor by using up the identity's budget.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { expect, it } from 'vitest'
import type { BudgetLimits } from '../../../src/domain/outbox/budget.ts'
import { priorities } from '../../../src/domain/outbox/queue.ts'
import { queueName, wasJustLookedFor } from '../../../src/domain/outbox/queue.ts'
import type { Announcement } from '../../../src/domain/run.ts'
import type { BeginAnswer, LeasedDelivery } from '../../../src/store/outbox-store.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion, holderOf } from '../claims.ts'
import { identity, sentEnd } from './manual-publisher.ts'
import { onlyAnchor, useOutbox } from './outbox-world.ts'
import { TestSubject } from '../test-subject.ts'
import { minute, second, type OpenStore } from '../world.ts'

const nothing: Announcement = { ...onlyAnchor, anchorPer: null }
const spaced = { spacingMs: second, perMinute: 0, perHour: 0 }
const room = { limit: 1, progressMax: 1 }

export function fairness(open: OpenStore): void {
  const { world, publisher, outbox } = useOutbox(open)
  const claim = (announcement: Announcement): Promise<ClaimAnswer> =>
    new TestSubject(world, { announcement }).claim('a')

  async function publish(held: ClaimAnswer, name: string): Promise<string> {
    const { runId, leaseHash } = holderOf(held)
    const output = {
      name,
      channel: 'github-comment',
      content: { form: 'text', body: name },
    } as const
    const request = { runId, leaseHash, actor: 'test', ...output, rightsOf: () => allRights }
    return (await outbox().publish(request, null)).delivery.id
  }

  async function publishMany(held: ClaimAnswer, count: number, name = 'c'): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      await publish(held, `${name}${n}`)
      world.clock.move(1)
    }
  }

  async function begin(leased: LeasedDelivery, limits = spaced): Promise<BeginAnswer> {
    const begun = await publisher.begin(leased, { limits })
    if (begun.result === 'begun') await publisher.end(leased, begun.attempt, sentEnd())
    if (begun.result === 'budget') {
      const queue = queueName(identity, leased.delivery.channel)
      await outbox().record(leased.lease, { what: 'budget', until: begun.until, queue })
    }
    return begun
  }

  async function queueAll(): Promise<void> {
    for (const leased of await outbox().lease({ limit: 100, progressMax: 100, queuedMax: 0 })) {
      await begin(leased)
    }
  }

  /** Begins all due deliveries, one after the other, and returns the results. */
  async function resultsOf(limits: BudgetLimits): Promise<string[]> {
    const results: string[] = []
    for (;;) {
      const [leased] = await outbox().lease(room)
      if (leased === undefined) return results
      results.push((await begin(leased, limits)).result)
    }
  }

  /** A run that publishes ten messages at once: the first is sent, and the others wait. */
  async function flood(): Promise<ClaimAnswer> {
    const busy = await claim(nothing)
    await publishMany(busy, 10)
    await queueAll()
    return busy
  }

  /** The names of the deliveries that are sent next, one per second. */
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

  it('a run’s further messages wait behind its own, not before another run', async () => {
    await flood()
    await claim(onlyAnchor)
    const other = await claim(nothing)
    await publish(other, 'other 0')
    await publish(other, 'other 1')
    await queueAll()
    const names = await sentNext(4)
    expect(names.slice(0, 2).toSorted()).toEqual(['anchor', 'other 0'])
    expect(names.slice(2).toSorted()).toEqual(['c1', 'other 1'])
  })

  it('a run’s own state does not wait behind its messages', async () => {
    const busy = await claim(onlyAnchor)
    await begin((await outbox().lease(room))[0]!)
    await publishMany(busy, 10)
    await queueAll()
    await world.store.runs.complete(completion(busy), null)
    await queueAll()
    expect((await sentNext(2)).toSorted()).toEqual(['anchor', 'c0'])
  })

  it('nothing is held back while no other run waits', async () => {
    await flood()
    expect(await sentNext(9)).toEqual(Array.from({ length: 9 }, (_, n) => `c${n + 1}`))
  })

  it('a message that is tried again keeps its turn', async () => {
    await flood()
    world.clock.move(second)
    const [c1] = await outbox().lease(room)
    const begun = await publisher.begin(c1!, { limits: spaced })
    const trouble = { code: 'http_502', text: 'bad gateway' }
    const end = { what: 'retry', trouble, after: world.store.now() + minute } as const
    if (begun.result === 'begun') await publisher.end(c1!, begun.attempt, end)
    world.clock.move(minute)
    const [again, c2] = await outbox().lease({ limit: 2, progressMax: 2 })
    expect([again?.delivery.name, c2?.delivery.name]).toEqual(['c1', 'c2'])
    await begin(c2!)
    expect(await begin(again!)).toMatchObject({ result: 'budget' })
    expect(await sentNext(2)).toEqual(['c1', 'c3'])
  })

  it('runs that publish much take turns, and a later run is not behind them', async () => {
    await flood()
    expect(await sentNext(5)).toEqual(['c1', 'c2', 'c3', 'c4', 'c5'])
    const later = await claim(nothing)
    await publishMany(later, 4, 'x')
    await queueAll()
    const names = await sentNext(7)
    expect(names[0]).toBe('x0')
    expect(names.slice(1, 3).toSorted()).toEqual(['c6', 'x1'])
    expect(names.slice(3, 5).toSorted()).toEqual(['c7', 'x2'])
    expect(names.slice(5).toSorted()).toEqual(['c8', 'x3'])
  })

  it.each(['all at once', 'one by one'])(
    'failed messages of a run that are retried %s do not go before another run',
    async (how) => {
      const busy = await claim(nothing)
      const ids: string[] = []
      for (let n = 0; n < 10; n += 1) ids.push(await publish(busy, `c${n}`))
      const end = { what: 'permanent', trouble: { code: 'http_403', text: 'no' } } as const
      for (const leased of await publisher.lease()) await publisher.send(leased, end)
      if (how === 'all at once') await outbox().retryMany({}, 'ann', null)
      else for (const id of ids) await outbox().retry(id, 'ann', null)
      // Retried a second time, as an impatient person does.
      await outbox().retry(ids[3]!, 'ann', null)
      await queueAll()
      await claim(onlyAnchor)
      await queueAll()
      expect(await sentNext(2)).toContain('anchor')
    },
  )

  /** Records a look that found nothing. */
  async function lookFor(leased: LeasedDelivery): Promise<void> {
    const isTurn = leased.fromQueue === queueName(identity, leased.delivery.channel)
    const nothingThere = { found: [], unverified: false, hash: 'h', looks: 1, isTurn } as const
    await outbox().record(leased.lease, { what: 'looked', ...nothingThere })
  }

  it('messages that a restored store has looked for take turns as before', async () => {
    await publishMany(await claim(nothing), 10)
    await outbox().noteRestore()
    for (const leased of await publisher.lease()) await lookFor(leased)
    await claim(onlyAnchor)
    await queueAll()
    const { items } = await outbox().list({ wait: 'budget' }, { limit: 100, cursor: null })
    const waiting = items.filter(({ name }) => name !== 'c0').map(({ priority }) => priority)
    expect(new Set(waiting)).toEqual(new Set([priorities.first, priorities.further]))
    expect(waiting.filter((priority) => priority === priorities.first)).toHaveLength(1)
    const turns = items.flatMap(({ turn }) => turn ?? []).toSorted((a, b) => a - b)
    expect(turns).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('a message that is looked for in its turn keeps its turn', async () => {
    await publishMany(await claim(nothing), 3)
    await outbox().noteRestore()
    for (const leased of await publisher.lease()) await lookFor(leased)
    await queueAll()
    world.clock.move(second)
    const [next] = await outbox().lease(room)
    await lookFor(next!)
    await claim(onlyAnchor)
    const again = await publisher.leaseNamed(next!.delivery.name)
    // Its turn came with the look. A look that is too old would have to be repeated.
    expect(wasJustLookedFor(again.delivery)).toBe(true)
  })

  const eight = { spacingMs: 0, perMinute: 8, perHour: 0 }

  it('further messages of a run leave half of the budget to all others', async () => {
    const busy = await claim(nothing)
    await publishMany(busy, 6)
    expect(await resultsOf(eight)).toEqual(['begun', 'begun', 'begun', 'begun', 'budget'])
    expect(await outbox().lease(room)).toEqual([])
    const held = await claim(onlyAnchor)
    const [anchor] = await outbox().lease(room)
    expect(await begin(anchor!, eight)).toMatchObject({ result: 'begun' })
    const { runId, leaseHash } = holderOf(held)
    await world.store.runs.reportStatus({ runId, leaseHash, text: 'half way', actor: 'test' }, null)
    world.clock.move(20 * second)
    const [progress] = await outbox().lease(room)
    expect(progress?.delivery.name).toBe('anchor')
    expect(await begin(progress!, eight)).toMatchObject({ result: 'begun' })
  })

  it('further messages get a quarter of the budget, however much the others write', async () => {
    for (let n = 0; n < 5; n += 1) await claim(onlyAnchor)
    for (const leased of await publisher.lease()) {
      expect(await begin(leased, eight)).toMatchObject({ result: 'begun' })
    }
    const busy = await claim(nothing)
    await publishMany(busy, 4)
    expect(await resultsOf(eight)).toEqual(['begun', 'begun', 'begun', 'budget'])
  })
}
