/**
 * Goal: a process that publishes only for its own run takes what belongs to that run, in the pace
 * of its identity, and leaves everything else to others.
 */
import { expect, it } from 'vitest'
import { queueName } from '../../../src/domain/outbox/queue.ts'
import type { LeasedDelivery } from '../../../src/store/outbox-store.ts'
import { TestSubject } from '../test-subject.ts'
import { second, type OpenStore } from '../world.ts'
import { identity, sentEnd } from './manual-publisher.ts'
import { onlyStatus, useOutbox } from './outbox-world.ts'

const limits = { spacingMs: second, perMinute: 0, perHour: 0 }
const room = { limit: 6, progressMax: 3 }

export function publishingForOneRun(open: OpenStore): void {
  const { world, publisher, outbox, move } = useOutbox(open)
  /** One after the other, so that their order is clear. */
  const claim = async (): Promise<string> => {
    const { run } = await new TestSubject(world, { announcement: onlyStatus }).claim('a')
    move(1)
    return run!.id
  }
  const runsOf = (leased: readonly LeasedDelivery[]) => leased.map(({ delivery }) => delivery.runId)
  const lease = (runId: string) => outbox().lease({ ...room, runId })

  async function send(leased: LeasedDelivery): Promise<string> {
    const begun = await publisher.begin(leased, { limits })
    if (begun.result === 'begun') {
      const report = { identity, httpStatus: null, requestId: null, githubRequestId: null }
      await outbox().endAttempt(leased.lease, { ...report, attempt: begun.attempt, end: sentEnd() })
    } else if (begun.result === 'budget') {
      const queue = queueName(identity, leased.delivery.channel)
      await outbox().record(leased.lease, { what: 'budget', until: begun.until, queue })
    }
    return begun.result
  }

  it('takes only the deliveries of that run', async () => {
    const [other, own] = [await claim(), await claim()]
    expect(await outbox().nextDueAt('run_unknown')).toBeNull()
    expect(await outbox().nextDueAt(own)).toBeLessThanOrEqual(world.store.now())
    expect(runsOf(await lease(own))).toEqual([own])
    expect(runsOf(await outbox().lease(room))).toEqual([other])
  })

  it('passes other runs in the queue, but never writes earlier than its identity may', async () => {
    const runs = [await claim(), await claim(), await claim()]
    const own = runs[2]!
    for (const leased of await publisher.lease()) await send(leased)
    const opens = await outbox().nextDueAt(own)
    expect(opens).toBeGreaterThan(world.store.now())
    expect(await lease(own)).toEqual([])
    move(second)
    const [leased] = await lease(own)
    expect(leased?.delivery.runId).toBe(own)
    expect(await send(leased!)).toBe('begun')
    expect(await lease(own)).toEqual([])
    move(second)
    expect(runsOf(await outbox().lease(room))).toEqual([runs[1]])
  })
}
