/** Goal: how a delivery changes after an attempt, also if the outcome is unknown or too late. */
import { describe, expect, it } from 'vitest'
import {
  aDelivery,
  anAttempt,
  around,
  aroundOf,
  aSentOne,
  now,
} from '../../../../test/outbox/sample-delivery.ts'
import { afterAttempt, afterFinding } from './after-attempt.ts'
import { afterLateEnd, afterTakeover } from './in-doubt.ts'
import type { Delivery } from '../delivery.ts'
import { nextStep } from './next-step.ts'
import type { AttemptEnd } from '../outcome.ts'

const trouble = { code: 'trouble', text: 'what went wrong' }
const sent: AttemptEnd = { what: 'sent', providerId: '7', url: 'http://gh/7', hash: 'h' }
const leased = (over: Partial<Delivery> = {}): Delivery =>
  aDelivery({ leaseId: 'req_1', leasedUntil: now + 9000, attemptId: 'att_1', ...over })
const end = (how: AttemptEnd, delivery = leased(), attempt = anAttempt()) =>
  afterAttempt(delivery, attempt, how, aroundOf(delivery))
const types = ({ audits }: { readonly audits: readonly { readonly type: string }[] }) =>
  audits.map(({ type }) => type)

it('an attempt always releases the lease of the delivery, however it ends', () => {
  const ends: readonly AttemptEnd[] = [
    sent,
    { what: 'retry', trouble, after: null },
    { what: 'permanent', trouble },
    { what: 'rate_limited', trouble, until: now + 5 },
    { what: 'in_doubt', trouble, after: null, looks: 2 },
    { what: 'not_sent' },
    { what: 'gone', trouble },
  ]
  for (const how of ends) {
    expect(end(how).delivery).toMatchObject({ leaseId: null, leasedUntil: null, attemptId: null })
  }
})

it('a process without the channel fails no delivery, even after its deadline', () => {
  const late = leased({ attemptId: null, tries: 2, deadlineAt: now - 1 })
  const { delivery, audits } = afterFinding(late, { what: 'no_channel', trouble }, aroundOf(late))
  const kept = { status: 'PENDING', tries: 2, dueAt: now + 30_000, errorCode: 'trouble' }
  expect(delivery).toMatchObject({ ...kept, leaseId: null })
  expect(audits).toEqual([])
})

describe('a sent version', () => {
  it('is closed', () => {
    const change = end(sent)
    expect(change.delivery).toMatchObject({
      ...{ status: 'SENT', providerId: '7', sentSeq: 1, sentHash: 'h', dueAt: null },
    })
    expect(types(change)).toEqual(['delivery.sent', 'run.anchor.created'])
  })

  it('that is older leaves the newer version open, with the priority of that version', () => {
    const newer = leased({ versionSeq: 3, coalesced: 1 })
    const { delivery } = end(sent, newer)
    expect(delivery).toMatchObject({
      ...{ status: 'PENDING', sentSeq: 1, versionSeq: 3, priority: 1, dueAt: now + 2000 },
    })
    const ended = end(sent, leased({ versionSeq: 3, final: true })).delivery
    expect(ended).toMatchObject({ priority: 0, dueAt: now })
  })

  it('after doubt is read again, and a create is also scanned for a second copy', () => {
    const { delivery } = end(sent, leased({ protocol: { unsettled: true } }))
    expect(delivery.protocol).toMatchObject({
      ...{ unsettled: true, settle: { step: 0, at: now + 15_000 } },
      scan: { step: 0, at: now + 60_000 },
    })
    expect(delivery).toMatchObject({ status: 'SENT', dueAt: now + 15_000 })
    const edit = anAttempt({ action: 'edit' })
    expect(
      end(sent, leased({ protocol: { unsettled: true } }), edit).delivery.protocol.scan,
    ).toBeUndefined()
  })

  it('records that GitHub shows work in progress, until it is closed', () => {
    expect(end(sent).delivery.protocol.showsWork).toBe(true)
    const closing = leased({ final: true, announces: false, protocol: { showsWork: true } })
    expect(end(sent, closing).delivery.protocol.showsWork).toBeUndefined()
  })
})

describe('an attempt that sent nothing', () => {
  const doubt = { action: 'create', since: now - 900, looks: 1 } as const
  const puttingOff: readonly AttemptEnd[] = [
    { what: 'rate_limited', trouble, until: now + 60_000 },
    { what: 'retry', trouble, after: null },
    { what: 'unclear', trouble },
  ]
  it.each(puttingOff)(
    'makes Holdfast look once more for an earlier request when it ends with $what',
    (how) => {
      const looked = leased({ protocol: { looked: true, unsettled: true, sought: doubt } })
      const { delivery } = end(how, looked)
      expect(delivery.protocol).toMatchObject({ doubt, unsettled: true })
      expect(delivery.protocol.sought).toBeUndefined()
      expect(nextStep(delivery, around.channel, false, now)).toEqual({ what: 'confirm' })
      expect(end(sent, looked).delivery.protocol.sought).toBeUndefined()
    },
  )

  it('makes Holdfast look once more for an earlier request when the budget is used up', () => {
    const looked = leased({ protocol: { sought: doubt } })
    const finding = { what: 'budget', until: now + 60_000, queue: null } as const
    expect(afterFinding(looked, finding, around).delivery.protocol.doubt).toEqual(doubt)
  })

  it('is tried again after 1, 2 and 4 seconds, and not before the time that GitHub named', () => {
    const waits = [0, 1, 2].map((tries) => {
      const { delivery } = end({ what: 'retry', trouble, after: null }, leased({ tries }))
      return Number(delivery.dueAt) - now
    })
    expect(waits).toEqual([1000, 2000, 4000])
    const change = end({ what: 'retry', trouble, after: now + 90_000 })
    expect(change.delivery).toMatchObject({ wait: 'backoff', tries: 1, dueAt: now + 90_000 })
    expect(types(change)).toEqual(['delivery.retry_scheduled'])
  })

  it('makes the delivery FAILED if the next try would be after the deadline', () => {
    const change = end(
      { what: 'retry', trouble, after: now + 90_000 },
      leased({ deadlineAt: now + 60_000 }),
    )
    expect(change.delivery).toMatchObject({ status: 'FAILED', reason: 'deadline' })
    expect(types(change)).toEqual(['delivery.failed'])
  })

  it('makes the delivery FAILED if GitHub refuses it; a newer version is still tried', () => {
    expect(end({ what: 'permanent', trouble }).delivery).toMatchObject({
      ...{ status: 'FAILED', reason: 'trouble', errorText: 'what went wrong' },
    })
    const newer = end({ what: 'permanent', trouble }, leased({ versionSeq: 2 })).delivery
    expect(newer.status).toBe('PENDING')
  })

  it('does not count as a try, and moves the deadline, if GitHub sets a limit', () => {
    const { delivery } = end({ what: 'rate_limited', trouble, until: now + 60_000 })
    expect(delivery).toMatchObject({ wait: 'budget', tries: 0, dueAt: now + 60_000 })
    expect(delivery.deadlineAt).toBe(leased().deadlineAt + 60_000)
  })

  it('is tried again if its time was over before it left, but not after the deadline', () => {
    const sought = { action: 'create', since: now, looks: 2 } as const
    const { delivery } = end({ what: 'not_sent' }, leased({ protocol: { sought } }))
    expect(delivery).toMatchObject({ status: 'PENDING', tries: 1, dueAt: now + 1000 })
    // Nothing was sent, so the look for the earlier request is made once more.
    expect(delivery.protocol).toEqual({ doubt: sought })
    const late = end({ what: 'not_sent' }, leased({ deadlineAt: now })).delivery
    expect(late).toMatchObject({ status: 'FAILED', reason: 'deadline', errorCode: 'too_late' })
  })
})

describe('a delivery in doubt', () => {
  it('is looked for at once, since the oldest attempt without an answer', () => {
    const how = { what: 'in_doubt', trouble, after: null, looks: 2 } as const
    const first = end(how).delivery
    expect(first).toMatchObject({ wait: 'in_doubt', dueAt: now })
    expect(first.protocol).toMatchObject({
      ...{ unsettled: true, doubt: { action: 'create', since: now - 500, looks: 0 } },
    })
    const again = end(how, { ...first, attemptId: 'att_2' }, anAttempt({ startedAt: now })).delivery
    expect(again.protocol.doubt?.since).toBe(now - 500)
  })

  it('is the result when its holder is lost', () => {
    const change = afterTakeover(leased(), anAttempt(), around)
    expect(change.delivery).toMatchObject({ wait: 'in_doubt', errorCode: 'holder_lost' })
    expect(types(change)).toEqual(['delivery.in_doubt'])
  })

  it('is not the result when the holder that removed a copy is lost: it stays closed', () => {
    const { delivery } = afterTakeover(aSentOne(), anAttempt({ action: 'remove' }), around)
    expect(delivery.status).toBe('SENT')
    expect(delivery.protocol.doubt).toBeUndefined()
  })

  it('is not the result of a late outcome: the target is only read again', () => {
    const late = afterLateEnd(aSentOne(), anAttempt({ action: 'edit' }), around)
    expect(late).toEqual({
      ...aSentOne(),
      dueAt: now + 15_000,
      protocol: { ...aSentOne().protocol, unsettled: true, settle: { step: 0, at: now + 15_000 } },
    })
    const created = afterLateEnd(aSentOne(), anAttempt({ action: 'create' }), around)
    expect(created.protocol.scan).toBeDefined()
  })
})

it('an edit of a missing comment leads to a look, not to a new comment', () => {
  const { delivery } = end(
    { what: 'gone', trouble },
    leased({ providerId: '100' }),
    anAttempt({ action: 'edit' }),
  )
  expect(delivery).toMatchObject({ wait: 'in_doubt', providerId: '100', dueAt: now })
  expect(delivery.protocol.lost).toEqual({ looks: 0 })
})

it('unchanged content closes the version without a request', () => {
  const change = afterFinding(leased({ versionSeq: 2 }), { what: 'unchanged', hash: 'h' }, around)
  expect(change.delivery).toMatchObject({ status: 'SENT', sentSeq: 2, announcedFence: 10 })
  expect(types(change)).toEqual(['delivery.coalesced'])
})

it('a removed copy leaves the list of copies, and the next copy is due at once', () => {
  const removal = anAttempt({ action: 'remove', providerId: '101' })
  const doubled = aSentOne({ protocol: { surplus: ['101', '102'] } })
  const change = end({ ...sent, providerId: null }, doubled, removal)
  expect(change.delivery).toMatchObject({ status: 'SENT', dueAt: now, providerId: '100' })
  expect(change.delivery.protocol.surplus).toEqual(['102'])
  expect(types(change)).toEqual(['run.anchor.deduplicated'])
  const check = { ...doubled, name: 'check', channel: 'github-check' } as const
  expect(types(end({ ...sent, providerId: null }, check, removal))).toEqual([
    'delivery.deduplicated',
  ])
})

describe('the reads after a delivery was closed', () => {
  const failed = { what: 'look_failed', trouble, after: null, permanent: false } as const

  it('have their own deadline, even if the deadline of the version is near', () => {
    const { delivery } = end(sent, leased({ protocol: { unsettled: true }, deadlineAt: now + 1 }))
    expect(delivery).toMatchObject({ status: 'SENT', protocol: { settle: { step: 0 } } })
    const after = afterFinding(delivery, failed, { ...around, now: now + 20_000 }).delivery
    expect(after).toMatchObject({ protocol: { settle: { step: 0 } }, tries: 1 })
    expect(after.dueAt).toBeGreaterThan(now + 20_000)
  })

  it('have their own deadline after a late outcome, too', () => {
    const over = aSentOne({ deadlineAt: now - 1 })
    const late = afterLateEnd(over, anAttempt(), around)
    expect(afterFinding(late, failed, around).delivery.dueAt).not.toBeNull()
  })

  it('get no later deadline when one fails', () => {
    const { delivery } = end(sent, leased({ protocol: { unsettled: true }, deadlineAt: now + 1 }))
    const { deadlineAt } = afterFinding(delivery, failed, { ...around, now: now + 9000 }).delivery
    expect(deadlineAt).toBe(delivery.deadlineAt)
  })

  it('end at their deadline, and the reads after a restore end with them', () => {
    const protocol = { settle: { step: 2, at: now }, restored: { laterKeys: ['k'] } }
    const over = aSentOne({ deadlineAt: now, protocol })
    expect(afterFinding(over, failed, around).delivery).toMatchObject({ dueAt: null, protocol: {} })
    expect(afterFinding(over, failed, around).delivery.protocol).toEqual({})
  })
})
