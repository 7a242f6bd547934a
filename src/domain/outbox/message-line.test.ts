/** Goal: a message keeps its place in the line of its run exactly while it is about to be sent. */
import { describe, expect, it } from 'vitest'
import { aDelivery } from '../../../test/outbox/sample-delivery.ts'
import type { Delivery } from './delivery.ts'
import { atEndOfLine, leaveLineUnlessSending, releaseFromLine } from './message-line.ts'
import { repairQueue } from './queue.ts'
import { defaultPublishing } from './schedule.ts'

const now = 1_000_000
const second = 1000
const hour = 3600 * second

const message = (over: Partial<Delivery>): Delivery =>
  aDelivery({ kind: 'message', line: 4, dueAt: now, wait: 'due', ...over })

describe('a message of a run', () => {
  it.each<[string, Partial<Delivery>]>([
    ['is due', {}],
    ['waits for the one before it', { wait: 'order', dueAt: now + 72 * hour }],
    ['is being sent', { leasedUntil: now + 20 * second, dueAt: now + 20 * second }],
    ['is tried again in a moment', { wait: 'backoff', tries: 3, dueAt: now + 4 * second }],
    [
      'is in doubt, with a look in a moment',
      { wait: 'in_doubt', tries: 1, dueAt: now + 5 * second },
    ],
    ['waits for its budget', { wait: 'budget', queue: 'token github-comment', dueAt: now + hour }],
    ['waits for the end of a block', { wait: 'budget', dueAt: now + hour }],
  ])('keeps its place while it %s', (_name, over) => {
    expect(leaveLineUnlessSending(message(over), now).line).toBe(4)
  })

  it.each<[string, Partial<Delivery>]>([
    ['was sent', { status: 'SENT', wait: null }],
    ['has failed', { status: 'FAILED', reason: 'forbidden', wait: null }],
    ['was skipped', { status: 'SKIPPED', reason: 'not wanted', wait: null }],
    ['is held', { wait: 'held', dueAt: null }],
    ['has no address', { wait: 'no_address', dueAt: null }],
    ['is tried again much later', { wait: 'backoff', dueAt: now + 15 * second }],
    ['is in doubt, with a look much later', { wait: 'in_doubt', dueAt: now + hour }],
    ['has failed several times, however soon the next try is', { wait: 'backoff', tries: 4 }],
    ['waits for a slot for a look', { wait: 'in_doubt', queue: repairQueue('acme') }],
  ])('leaves the line when it %s', (_name, over) => {
    expect(leaveLineUnlessSending(message(over), now).line).toBeNull()
  })

  it('is due at once if the line is empty, otherwise it waits behind the last one', () => {
    const fresh = message({ line: null, deadlineAt: now + 72 * hour })
    expect(atEndOfLine(fresh, null)).toEqual({ ...fresh, line: 0 })
    const behind = { line: 8, wait: 'order', dueAt: fresh.deadlineAt }
    expect(atEndOfLine(fresh, 7)).toMatchObject(behind)
  })

  it('gets back the time it waited, up to the longest time that it may be open', () => {
    const waiting = message({ wait: 'order', changedAt: now - hour, deadlineAt: now + hour })
    const gone = releaseFromLine(waiting, now, defaultPublishing)
    expect(gone).toMatchObject({ wait: 'due', dueAt: now, deadlineAt: now + 2 * hour })
    const rules = { ...defaultPublishing, openMsMax: 2.5 * hour }
    expect(releaseFromLine(waiting, now, rules).deadlineAt).toBe(now + 1.5 * hour)
  })
})
