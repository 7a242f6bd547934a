/**
 * Goal: a delivery that waits until its identity may write again blocks no other, comes in its
 * turn, and is never forgotten.
 */
import { expect, it } from 'vitest'
import { entryQueue, queueName, repairQueue } from '../../../src/domain/outbox/queue.ts'
import { defaultPublishing } from '../../../src/domain/outbox/schedule.ts'
import type { BeginAnswer, LeasedDelivery } from '../../../src/store/outbox-store.ts'
import { identity, noAnswer, sentEnd } from './manual-publisher.ts'
import { onlyAnchor, onlyStatus, useOutbox } from './outbox-world.ts'
import { TestSubject } from '../test-subject.ts'
import { hour, second, type OpenStore } from '../world.ts'

const limits = { spacingMs: second, perMinute: 0, perHour: 0 }
const queue = queueName(identity, 'github-status')
const anchors = queueName(identity, 'github-comment')
const room = { limit: 6, progressMax: 3 }

export function queueing(open: OpenStore): void {
  const { world, publisher, outbox, move } = useOutbox(open)
  const claim = async (announcement = onlyStatus): Promise<string> => {
    const made = await new TestSubject(world, { announcement }).claim('a')
    return made.run!.id
  }
  const runsOf = (leased: readonly LeasedDelivery[]) => leased.map(({ delivery }) => delivery.runId)

  /**
   * Begins an attempt as a publisher does: if the budget refuses it, the delivery goes to its
   * queue.
   */
  async function tryToSend(leased: LeasedDelivery, as = identity): Promise<BeginAnswer['result']> {
    const begun = await publisher.begin(leased, { limits, identity: as })
    if (begun.result === 'begun') {
      const report = { identity: as, httpStatus: null, requestId: null, githubRequestId: null }
      await outbox().endAttempt(leased.lease, { ...report, attempt: begun.attempt, end: sentEnd() })
    } else if (begun.result === 'budget') {
      const { until } = begun
      const inQueue = queueName(as, leased.delivery.channel)
      await outbox().record(leased.lease, { what: 'budget', until, queue: inQueue })
    }
    return begun.result
  }

  /** Makes this many deliveries wait behind one that was sent. Returns their runs, oldest first. */
  async function backlog(count: number, announcement = onlyStatus): Promise<string[]> {
    const runs: string[] = []
    for (let n = 0; n <= count; n += 1) {
      runs.push(await claim(announcement))
      move(1)
    }
    for (const leased of await publisher.lease()) await tryToSend(leased)
    return runs.slice(1)
  }

  it('one identity’s deliveries come one at a time, oldest first, never too early', async () => {
    const runs = await backlog(3)
    expect(await outbox().lease(room)).toEqual([])
    const opens = (await outbox().nextDueAt())!
    expect(opens).toBeGreaterThan(world.store.now())
    for (const run of runs) {
      move(second)
      const leased = await outbox().lease(room)
      expect(runsOf(leased)).toEqual([run])
      expect(leased[0]).toMatchObject({ fromQueue: queue, delivery: { queue: null } })
      expect(await tryToSend(leased[0]!)).toBe('begun')
    }
    expect(await outbox().nextDueAt()).toBeNull()
  })

  it('a queue leaves room to others, however many deliveries wait in it', async () => {
    await backlog(20)
    const other = await claim()
    const leased = await outbox().lease({ limit: 1, progressMax: 1 })
    expect(runsOf(leased)).toEqual([other])
    expect(await tryToSend(leased[0]!, 'other')).toBe('begun')
  })

  it('a lease takes one delivery of each identity whose time has come', async () => {
    const runs = await backlog(2)
    const others = [await claim(), await claim()]
    for (const leased of await publisher.lease()) await tryToSend(leased, 'other')
    move(2 * second)
    const taken = runsOf(await outbox().lease(room))
    expect(taken).toHaveLength(2)
    expect(taken).toContain(runs[0])
    expect(others).toContain(taken.find((run) => run !== runs[0]))
  })

  it('a lease takes nothing of an identity or a queue that has enough leased', async () => {
    const [first] = await backlog(2)
    move(second)
    expect(await outbox().lease({ ...room, full: [identity] })).toEqual([])
    expect(await outbox().lease({ ...room, full: [queue] })).toEqual([])
    expect(await outbox().lease({ ...room, queuedMax: 0 })).toEqual([])
    expect(runsOf(await outbox().lease(room))).toEqual([first])
  })

  it('a new delivery goes behind those that wait', async () => {
    const [first, next] = await backlog(2)
    move(second)
    const [waited] = await outbox().lease({ ...room, limit: 1 })
    const late = await claim()
    move(second)
    const fresh = (await outbox().lease({ ...room, queuedMax: 0 }))[0]!
    expect(fresh.delivery.runId).toBe(late)
    expect(await publisher.begin(fresh, { limits })).toMatchObject({
      result: 'budget',
      why: 'queue',
    })
    expect(waited?.delivery.runId).toBe(first)
    expect(await tryToSend(waited!)).toBe('begun')
    expect(await tryToSend(fresh)).toBe('budget')
    move(second)
    expect(runsOf(await outbox().lease(room))).toEqual([next])
  })

  const report = (runId: string, text: string) =>
    world.store.runs.reportStatus({ runId, leaseHash: null, text, actor: 'op' }, null)

  it('a report while the comment waits to be created keeps its place', async () => {
    const runs = await backlog(4, onlyAnchor)
    for (const run of runs) {
      move(second)
      await report(runs[1]!, `before ${run}`)
      const leased = await outbox().lease({ ...room, limit: 1 })
      expect(runsOf(leased)).toEqual([run])
      expect(await tryToSend(leased[0]!)).toBe('begun')
    }
  })

  it('a report while progress waits keeps its place', async () => {
    const runs = await backlog(3, onlyAnchor)
    for (const _run of runs) {
      move(second)
      await tryToSend((await outbox().lease(room))[0]!)
    }
    for (const run of runs) {
      move(hour)
      await report(run, 'half')
    }
    await claim(onlyAnchor)
    for (const leased of await outbox().lease({ limit: 10, progressMax: 10 })) {
      await tryToSend(leased)
    }
    for (const run of runs) {
      move(second)
      await report(runs[0]!, `before ${run}`)
      const leased = await outbox().lease(room)
      expect(runsOf(leased)).toEqual([run])
      expect(await tryToSend(leased[0]!)).toBe('begun')
    }
  })

  it('the end of a run whose progress waits goes first, before all progress', async () => {
    const [run] = await backlog(1, onlyAnchor)
    move(second)
    await tryToSend((await outbox().lease(room))[0]!)
    move(hour)
    await report(run!, 'half')
    const [leased] = await outbox().lease(room)
    const until = world.store.now() + hour
    await outbox().record(leased!.lease, { what: 'budget', until, queue: anchors })
    await world.store.runs.cancel(run!, 'test', null)
    expect(await outbox().lease({ limit: 1, progressMax: 0 })).toMatchObject([
      { fromQueue: anchors, delivery: { runId: run, final: true, priority: 0 } },
    ])
  })

  it('a delivery that is refused again in its turn keeps its place', async () => {
    const [first, next] = await backlog(2, onlyAnchor)
    move(second)
    const [leased] = await outbox().lease(room)
    expect(leased?.delivery.runId).toBe(first)
    await report(next!, 'still there')
    const until = world.store.now() + second
    await outbox().record(leased!.lease, { what: 'budget', until, queue: anchors })
    await report(first!, 'still there')
    move(second)
    expect(runsOf(await outbox().lease(room))).toEqual([first])
  })

  it('a delivery of a lost holder is due again when its lease is over', async () => {
    const [first] = await backlog(1)
    move(second)
    expect(runsOf(await outbox().lease(room))).toEqual([first])
    expect(await outbox().lease(room)).toEqual([])
    move(defaultPublishing.deliveryLeaseMs)
    expect(runsOf(await outbox().lease(room))).toEqual([first])
  })

  it('a delivery is shown as waiting for the budget while it is in the queue', async () => {
    const [run] = await backlog(1)
    move(hour)
    const page = { limit: 10, cursor: null }
    const waiting = await outbox().list({ wait: 'budget' }, page)
    expect(waiting.items.map(({ runId }) => runId)).toEqual([run])
    expect((await outbox().list({ wait: 'due' }, page)).items).toEqual([])
  })

  it('the time in the queue does not count to the deadline', async () => {
    const [run] = await backlog(1)
    const before = await publisher.named(run!, 'status')
    move(hour)
    await outbox().lease(room)
    const after = await publisher.named(run!, 'status')
    expect(after.deadlineAt).toBe(before.deadlineAt + world.store.now() - before.dueAt!)
  })

  it('a delivery leaves the queue when its run ends with nothing left to do', async () => {
    const [run] = await backlog(1)
    await world.store.runs.cancel(run!, 'test', null)
    const closed = await publisher.named(run!, 'status')
    expect(closed).toMatchObject({ status: 'SKIPPED', queue: null, dueAt: null })
    expect(await outbox().nextDueAt()).toBeNull()
  })

  it('reads that repair have their own room', async () => {
    await claim()
    await publisher.send(await publisher.leaseNamed('status'), noAnswer)
    await backlog(3)
    move(hour)
    const repairs = await outbox().lease({ limit: 0, progressMax: 0, repairsMax: 1 })
    expect(repairs).toMatchObject([{ delivery: { wait: 'in_doubt', priority: 2 } }])
  })

  const fresh = { limit: 100, progressMax: 100, queuedMax: 0, repairsMax: 0, repairsQueuedMax: 0 }

  /** Makes this many deliveries of an account in doubt, in its queue. Returns their runs. */
  async function inDoubt(account: string, count: number): Promise<string[]> {
    const runs: string[] = []
    for (let n = 0; n < count; n += 1) {
      runs.push(await claim())
      for (const leased of await outbox().lease(fresh)) await publisher.send(leased, noAnswer)
    }
    move(second)
    for (const { lease } of await outbox().lease({ ...fresh, repairsMax: 100 })) {
      await outbox().record(lease, { what: 'no_slot', queue: repairQueue(account) })
    }
    return runs
  }
  const repairRoom = { limit: 0, progressMax: 0, repairsMax: 4 }

  it('reads that repair wait in the queue of their account, and come in turn', async () => {
    const busy = await inDoubt('a', 5)
    const [other] = await inDoubt('b', 1)
    expect(await publisher.named(other!, 'status')).toMatchObject({
      queue: repairQueue('b'),
      wait: 'in_doubt',
    })
    expect(await outbox().nextDueAt()).toBeLessThanOrEqual(world.store.now())
    const first = await outbox().lease({ ...repairRoom, repairsMax: 1 })
    expect(busy).toContain(runsOf(first)[0])
    expect(first[0]).toMatchObject({ fromQueue: repairQueue('a'), delivery: { queue: null } })
    const lastServed = { entry: '', repair: repairQueue('a') }
    const next = await outbox().lease({ ...repairRoom, repairsMax: 1, lastServed })
    expect(runsOf(next)).toEqual([other])
  })

  it('reads of an account that has its share leave room to the others', async () => {
    await inDoubt('a', 3)
    const [other] = await inDoubt('b', 1)
    expect(await outbox().lease({ ...repairRoom, repairsQueuedMax: 0 })).toEqual([])
    const full = [repairQueue('a')]
    expect(runsOf(await outbox().lease({ ...repairRoom, full }))).toEqual([other])
  })

  it('a read that repairs leaves its queue when there is nothing left to read', async () => {
    const [run] = await inDoubt('a', 1)
    const { id } = await publisher.named(run!, 'status')
    await outbox().skip(id, 'not wanted', 'operator', null)
    expect(await publisher.named(run!, 'status')).toMatchObject({ status: 'SKIPPED', queue: null })
  })

  it('deliveries whose identity is not known yet come in turn, and not too many', async () => {
    for (const account of ['a', 'b']) {
      for (let n = 0; n < 3; n += 1) await claim()
      for (const { lease } of await outbox().lease(fresh)) {
        await outbox().record(lease, { what: 'no_slot', queue: entryQueue(account) })
      }
    }
    expect(await outbox().lease({ ...room, entriesMax: 0 })).toEqual([])
    const lastServed = { entry: entryQueue('a'), repair: '' }
    const next = await outbox().lease({ ...room, entriesMax: 1, lastServed })
    expect(next.map(({ fromQueue }) => fromQueue)).toEqual([entryQueue('b')])
    const full = [entryQueue('a')]
    const free = await outbox().lease({ ...room, full })
    expect(free.map(({ fromQueue }) => fromQueue)).toEqual([entryQueue('b')])
  })
}
