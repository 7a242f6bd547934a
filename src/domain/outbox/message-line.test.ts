/**
 * Goal: a message keeps its place in the line of its run exactly while it is about to be sent.
 */
import { describe, expect, it } from 'vitest'
import { aDelivery } from '../../../test/outbox/sample-delivery.ts'
import type { Delivery } from './delivery.ts'
import { atTheEnd, inLine, letGoOn } from './message-line.ts'
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
    ['is looked for in a moment', { wait: 'in_doubt', tries: 1, dueAt: now + 5 * second }],
    ['waits for its budget', { wait: 'budget', queue: 'token github-comment', dueAt: now + hour }],
    ['waits for the end of a block', { wait: 'budget', dueAt: now + hour }],
  ])('keeps its place while it %s', (_name, over) => {
    expect(inLine(message(over), now).line).toBe(4)
  })

  it.each<[string, Partial<Delivery>]>([
    ['was sent', { status: 'SENT', wait: null }],
    ['has failed', { status: 'FAILED', reason: 'forbidden', wait: null }],
    ['was skipped', { status: 'SKIPPED', reason: 'not wanted', wait: null }],
    ['is held', { wait: 'held', dueAt: null }],
    ['has no address', { wait: 'no_address', dueAt: null }],
    ['is tried again much later', { wait: 'backoff', dueAt: now + 15 * second }],
    ['is looked for much later', { wait: 'in_doubt', dueAt: now + hour }],
    ['has failed again and again, however soon it is tried', { wait: 'backoff', tries: 4 }],
    ['waits for a hand to be looked for', { wait: 'in_doubt', queue: repairQueue('acme') }],
  ])('leaves the line when it %s', (_name, over) => {
    expect(inLine(message(over), now).line).toBeNull()
  })

  it('goes at once where nobody is before it, else behind the last', () => {
    const fresh = message({ line: null, deadlineAt: now + 72 * hour })
    expect(atTheEnd(fresh, null)).toEqual({ ...fresh, line: 0 })
    const behind = { line: 8, wait: 'order', dueAt: fresh.deadlineAt }
    expect(atTheEnd(fresh, 7)).toMatchObject(behind)
  })

  it('gets back the time it waited, up to the last moment it may be open', () => {
    const waiting = message({ wait: 'order', changedAt: now - hour, deadlineAt: now + hour })
    const gone = letGoOn(waiting, now, defaultPublishing)
    expect(gone).toMatchObject({ wait: 'due', dueAt: now, deadlineAt: now + 2 * hour })
    const rules = { ...defaultPublishing, openMsMax: 2.5 * hour }
    expect(letGoOn(waiting, now, rules).deadlineAt).toBe(now + 1.5 * hour)
  })
})
