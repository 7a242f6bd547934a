/** Goal: what follows from a look at GitHub: found, absent, deleted, found twice, settled. */
import { describe, expect, it } from 'vitest'
import {
  aDelivery,
  around,
  aroundOf,
  aSentOne,
  now,
} from '../../../../test/outbox/sample-delivery.ts'
import type { Delivery } from '../delivery.ts'
import { afterExamination, afterLook, afterScan, afterSettle } from './after-look.ts'
import type { FoundOutput } from '../outcome.ts'

const seen = (providerId: string, current = true): FoundOutput => ({
  providerId,
  url: null,
  current,
})
const types = ({ audits }: { readonly audits: readonly { readonly type: string }[] }) =>
  audits.map(({ type }) => type)

describe('a look for a delivery that may have been sent', () => {
  const doubt = { action: 'create', since: now - 900, looks: 0 } as const
  const doubtful = (over: Partial<Delivery> = {}) =>
    aDelivery({ wait: 'in_doubt', tries: 1, protocol: { doubt, unsettled: true }, ...over })
  const look = (found: readonly FoundOutput[], delivery = doubtful(), unverified = false) =>
    afterLook(
      delivery,
      { what: 'looked', found, unverified, hash: 'h', looks: 2 },
      aroundOf(delivery),
    )

  it('finds it with the right text: it counts as sent, is adopted and is read again later', () => {
    const change = look([seen('7')])
    expect(change.delivery).toMatchObject({
      ...{ status: 'SENT', providerId: '7', sentFence: 10, sentSeq: 1, sentHash: 'h' },
      protocol: { unsettled: true, settle: { step: 0, at: now + 15_000 } },
    })
    expect(change.delivery.protocol.doubt).toBeUndefined()
    expect(types(change)).toEqual(['delivery.confirmed', 'run.anchor.adopted'])
  })

  it('finds a late check run: that one is closed, and the completed one stays as it is', () => {
    const check = aSentOne({ channel: 'github-check', name: 'check', providerId: '7' })
    const late = { ...seen('9', false), atWork: true }
    const { delivery } = afterScan(check, [late, { ...seen('7'), atWork: false }], aroundOf(check))
    expect(delivery).toMatchObject({ status: 'PENDING', providerId: '9', dueAt: now })
    expect(delivery.protocol.surplus).toBeUndefined()
  })

  it('finds it with the right text at the first look: it is sent, and the audit says why', () => {
    const check = {
      channel: 'github-check',
      name: 'check',
      providerId: null,
      protocol: {},
    } as const
    const change = look([seen('7')], aDelivery(check))
    expect(change.delivery).toMatchObject({ status: 'SENT', providerId: '7' })
    expect(types(change)).toEqual(['delivery.confirmed'])
    expect(types(look([seen('7', false)], aDelivery(check)))).toEqual([])
  })

  it('finds it with an older text: it is adopted and edited now', () => {
    const { delivery } = look([seen('7', false)])
    expect(delivery).toMatchObject({ status: 'PENDING', wait: 'due', dueAt: now, providerId: '7' })
  })

  it('finds it twice: the first is kept, the others are removed', () => {
    expect(look([seen('7'), seen('9')]).delivery.protocol.surplus).toEqual(['9'])
  })

  it('does not find it: it looks again after the delay, and only then sends again', () => {
    const once = look([]).delivery
    expect(once).toMatchObject({ wait: 'in_doubt', dueAt: now + 5000 })
    expect(once.protocol.doubt?.looks).toBe(1)
    const twice = look([], once).delivery
    expect(twice).toMatchObject({ wait: 'due', dueAt: now, protocol: { looked: true } })
    expect(twice.protocol.sought).toEqual({ ...doubt, looks: 1 })
    expect(twice.protocol.doubt).toBeUndefined()
    // It may still arrive, so the target is not settled.
    expect(twice.protocol.unsettled).toBe(true)
  })

  it('finds text by our account that no key signed: the delivery is held for a person', () => {
    const change = look([], doubtful(), true)
    expect(change.delivery).toMatchObject({ status: 'PENDING', wait: 'held', dueAt: null })
    expect(types(change)).toEqual(['delivery.in_doubt'])
  })

  it('does not find the comment of an unanswered edit: the comment may be deleted', () => {
    const protocol = { doubt: { ...doubt, action: 'edit' } as const, unsettled: true as const }
    const { delivery } = look([], doubtful({ providerId: '7', protocol }))
    expect(delivery.protocol).toMatchObject({ lost: { looks: 0 } })
    expect(delivery.providerId).toBe('7')
  })
})

describe('a comment that may be deleted', () => {
  const suspected = (protocol: Delivery['protocol'] = {}) =>
    aSentOne({
      ...{ status: 'PENDING', closedAt: null, wait: 'in_doubt' },
      protocol: { lost: { looks: 0 }, ...protocol },
    })
  const examine = (delivery: Delivery, there: boolean, placeIsThere = true) =>
    afterExamination(delivery, { what: 'examined', there, placeIsThere }, around)

  it('is recreated if two looks do not find it, once per round', () => {
    const once = examine(suspected(), false).delivery
    expect(once).toMatchObject({ dueAt: now + 5000, providerId: '100' })
    const change = examine(once, false)
    expect(change.delivery).toMatchObject({
      ...{ status: 'PENDING', wait: 'due', providerId: null, sentHash: null },
      protocol: { recreatedFence: 10, recreatedFrom: '100' },
    })
    expect(types(change)).toEqual(['run.anchor.lost'])
  })

  it('is not recreated a second time in a round: a person wants it deleted', () => {
    const change = examine(suspected({ lost: { looks: 1 }, recreatedFence: 10 }), false)
    expect(change.delivery).toMatchObject({ status: 'SKIPPED', reason: 'anchor_removed' })
    expect(types(change)).toEqual(['run.anchor.lost', 'delivery.skipped'])
    const earlier = examine(suspected({ lost: { looks: 1 }, recreatedFence: 9 }), false)
    expect(earlier.delivery.status).toBe('PENDING')
  })

  it('makes the delivery FAILED if its thread is not visible, and nothing is created', () => {
    const change = examine(suspected({ lost: { looks: 1 } }), false, false)
    expect(change.delivery).toMatchObject({ status: 'FAILED', reason: 'not_found' })
    expect(change.delivery.providerId).toBe('100')
  })

  it('is edited again later if a look finds it', () => {
    const { delivery } = examine(suspected(), true)
    expect(delivery).toMatchObject({ wait: 'backoff', tries: 1, providerId: '100' })
    expect(delivery.protocol.lost).toBeUndefined()
  })
})

describe('a scan for a second copy', () => {
  const scanned = aSentOne({ protocol: { scan: { step: 0, at: now }, unsettled: true } })

  it('finds no second copy: it scans once more, then stops', () => {
    const first = afterScan(scanned, [seen('100')], around).delivery
    expect(first.protocol.scan).toEqual({ step: 1, at: now + 15 * 60_000 })
    const last = afterScan(first, [seen('100')], around).delivery
    expect(last.protocol.scan).toBeUndefined()
    expect(last.status).toBe('SENT')
  })

  it('finds two: the one with the lower id is updated first, then the other is removed', () => {
    const { delivery } = afterScan(scanned, [seen('90', false), seen('100')], around)
    expect(delivery).toMatchObject({ status: 'PENDING', providerId: '90', dueAt: now })
    expect(delivery.protocol.surplus).toEqual(['100'])
    const current = afterScan(scanned, [seen('90'), seen('100')], around).delivery
    expect(current).toMatchObject({ status: 'SENT', providerId: '90', dueAt: now })
  })

  it('finds a late check run in progress: that one becomes the output, and it is closed', () => {
    const check = { ...scanned, channel: 'github-check' as const }
    const [late, known] = [seen('120', false), seen('100')]
    const found = [
      { ...late, atWork: true },
      { ...known, atWork: false },
    ]
    const { delivery } = afterScan(check, found, aroundOf(check))
    expect(delivery).toMatchObject({ status: 'PENDING', providerId: '120', dueAt: now })
    expect(delivery.protocol.surplus).toBeUndefined()
  })
})

describe('settling', () => {
  const unsettled = (step: number, over: Partial<Delivery> = {}) =>
    aSentOne({ protocol: { unsettled: true, settle: { step, at: now } }, ...over })

  it('ends after three reads that show the right content', () => {
    const once = afterSettle(unsettled(0), [seen('100')], { ...around, now: now + 15_000 })
    expect(once.delivery.protocol.settle).toEqual({ step: 1, at: now + 120_000 })
    expect(once.delivery.protocol.unsettled).toBe(true)
    const twice = afterSettle(once.delivery, [seen('100')], { ...around, now: now + 120_000 })
    expect(twice.delivery.protocol.settle).toEqual({ step: 2, at: now + 900_000 })
    const thrice = afterSettle(twice.delivery, [seen('100')], { ...around, now: now + 900_000 })
    expect(thrice.delivery.protocol.unsettled).toBeUndefined()
    expect(thrice.delivery).toMatchObject({ status: 'SENT', dueAt: null })
    expect(types(thrice)).toEqual(['delivery.settled'])
  })

  it('sends once more if a late request overwrote the content', () => {
    const change = afterSettle(unsettled(0), [seen('100', false)], around)
    expect(change.delivery).toMatchObject({
      ...{ status: 'PENDING', wait: 'due', dueAt: now, sentHash: null, versionSeq: 1 },
    })
    expect(types(change)).toEqual(['delivery.retry_scheduled'])
  })

  it('looks for a missing comment before it recreates it', () => {
    const { delivery } = afterSettle(unsettled(0), [], around)
    expect(delivery).toMatchObject({ status: 'PENDING', wait: 'in_doubt', providerId: '100' })
    expect(delivery.protocol.lost).toEqual({ looks: 1 })
    expect(delivery.dueAt).toBe(now + around.rules.confirmDelayMs)
  })

  it('after a restore does not repeat a removed comment, but sends a missing status', () => {
    const restored = { laterKeys: [] }
    const protocol = { unsettled: true as const, restored, settle: { step: 0, at: now } }
    const comment = afterSettle(unsettled(0, { protocol, final: true }), [], around)
    expect(comment.delivery).toMatchObject({ status: 'SENT', dueAt: null })
    const status = { channel: 'github-status', name: 'status', final: true } as const
    const change = afterSettle(unsettled(0, { protocol, ...status }), [], aroundOf(status))
    expect(change.delivery).toMatchObject({ status: 'PENDING', wait: 'due', dueAt: now })
    expect(types(change)).toEqual(['delivery.retry_scheduled'])
  })

  it('does not reopen a FAILED delivery', () => {
    const failed = unsettled(0, { status: 'FAILED', reason: 'forbidden' })
    const { delivery } = afterSettle(failed, [seen('100', false)], around)
    expect(delivery).toMatchObject({ status: 'FAILED', dueAt: null })
  })
})

it('the reads that settle keep their distance if the clock was set ahead', () => {
  const protocol = { settle: { step: 0, at: now }, unsettled: true as const }
  const sent = aSentOne({ sentAt: now - 2 * 3_600_000, protocol })
  const [first = 0, second = 0] = around.rules.settleAfterMs
  const { delivery } = afterSettle(sent, [seen('100')], around)
  expect(delivery.protocol.settle).toEqual({ step: 1, at: now + second - first })
})
