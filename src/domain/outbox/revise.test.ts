/**
 * Goal: the output that a newer claim wants becomes the next version and is sent at the right time.
 */
import { describe, expect, it } from 'vitest'
import {
  aDelivery,
  aRun,
  aSentOne,
  aRunOutput,
  now,
  rules,
} from '../../../test/outbox/sample-delivery.ts'
import type { Delivery } from './delivery.ts'
import { revise, type RunOutput } from './revise.ts'

const next = (existing: Delivery | null, output: RunOutput, at = now) =>
  revise(existing, output, () => 'del_2', at, rules)
const words = (text: string) => ({ content: { words: text } })

describe('without an existing delivery', () => {
  it('a claim creates the first version, due at once', () => {
    expect(next(null, aRunOutput())?.delivery).toMatchObject({
      ...{ id: 'del_2', versionFence: 10, versionSeq: 1, status: 'PENDING', dueAt: now },
      ...{ priority: 0, announcedFence: null, rev: 0 },
    })
  })

  it.each([
    ['keeps', { claim: 'keep' }],
    ['takes what exists', { claim: 'take-existing' }],
    ['only closes', { closesOnly: true }],
  ] as const)('an output that only %s creates nothing', (_name, wanted) => {
    expect(next(null, aRunOutput(wanted))).toBeNull()
  })
})

describe('with an existing delivery', () => {
  it('a lower claim changes nothing, whatever it wants', () => {
    const existing = aSentOne({ versionFence: 20 })
    for (const claim of ['take', 'take-existing', 'keep'] as const) {
      expect(next(existing, aRunOutput({ claim, ...words('old') }))).toBeNull()
    }
  })

  it('the same content creates no new version, but the same content as the end does', () => {
    const existing = aSentOne()
    expect(next(existing, aRunOutput())).toBeNull()
    expect(next(existing, aRunOutput({ final: true }))?.delivery.versionSeq).toBe(2)
  })

  it('a higher claim takes over the comment, and the audit names the run before', () => {
    const newer = aRun({ id: 'run_2', claimFence: 20, round: 3 })
    const taken = next(aSentOne(), aRunOutput(words('second'), newer))
    expect(taken?.delivery).toMatchObject({
      ...{ id: 'del_1', runId: 'run_2', versionFence: 20, versionSeq: 2, round: 3 },
      ...{ providerId: '100', status: 'PENDING', dueAt: now, priority: 0, shownSince: null },
    })
    expect(taken?.audits).toMatchObject([
      { type: 'run.anchor.taken_over', data: { from_run_id: 'run_1', comment_id: '100' } },
    ])
  })

  it('an output that only takes what exists does not take a delivery that was never sent', () => {
    const newer = aRun({ id: 'run_2', claimFence: 20 })
    const output = aRunOutput({ claim: 'take-existing', ...words('second') }, newer)
    expect(next(aDelivery(), output)).toBeNull()
    expect(next(aSentOne(), output)).not.toBeNull()
  })

  it('a newer version opens a FAILED or SKIPPED delivery', () => {
    for (const status of ['FAILED', 'SKIPPED'] as const) {
      const existing = aSentOne({ status, reason: 'why' })
      const { delivery } = next(existing, aRunOutput({ ...words('end'), final: true }))!
      expect(delivery).toMatchObject({ status: 'PENDING', reason: null, closedAt: null })
    }
  })

  it('a comment that a person removed twice is not shown again in this round', () => {
    const existing = aSentOne({ protocol: { removedFence: 10 } })
    expect(next(existing, aRunOutput(words('more')))?.delivery).toMatchObject({
      ...{ status: 'SKIPPED', reason: 'anchor_removed', versionSeq: 2 },
    })
    const newer = aRun({ id: 'run_2', claimFence: 20 })
    expect(next(existing, aRunOutput(words('more'), newer))?.delivery.status).toBe('PENDING')
  })
})

describe('the time at which a version is sent', () => {
  const progress = aRunOutput(words('progress'))
  const end = aRunOutput({ ...words('end'), final: true })

  it('progress waits for its window, but the end of a run does not', () => {
    expect(next(aSentOne(), progress, now + 500)?.delivery).toMatchObject({
      ...{ dueAt: now + 2000, priority: 1 },
    })
    expect(next(aSentOne(), progress, now + 9000)?.delivery.dueAt).toBe(now + 9000)
    expect(next(aSentOne(), end, now + 500)?.delivery).toMatchObject({
      ...{ dueAt: now + 500, priority: 0 },
    })
  })

  it('progress waits longer, the longer the run has been shown', () => {
    const old = aSentOne({ shownSince: now - 60_000 })
    expect(next(old, progress, now + 500)?.delivery.dueAt).toBe(now + 10_000)
    const ancient = aSentOne({ shownSince: now - 600_000 })
    expect(next(ancient, progress, now + 500)?.delivery.dueAt).toBe(now + 60_000)
  })

  it.each(['backoff', 'in_doubt'] as const)('the end of a run also waits for %s', (wait) => {
    const waiting = aSentOne({
      status: 'PENDING',
      closedAt: null,
      wait,
      dueAt: now + 4000,
      tries: 2,
    })
    expect(next(waiting, end)?.delivery).toMatchObject({ wait, dueAt: now + 4000, tries: 2 })
  })

  it('the end of a run does not wait for a budget that progress waits for', () => {
    const waiting = aSentOne({
      ...{ status: 'PENDING', closedAt: null, wait: 'budget', dueAt: now + 4000, versionSeq: 2 },
    })
    expect(next(waiting, progress)?.delivery.dueAt).toBe(now + 4000)
    expect(next(waiting, end)?.delivery).toMatchObject({ wait: 'due', dueAt: now, priority: 0 })
  })

  it('a delivery that is being sent is due for its newer version when the lease ends', () => {
    const leasedUntil = now + 20_000
    const held = aDelivery({ leaseId: 'req_1', leasedUntil, dueAt: leasedUntil })
    expect(next(held, end)?.delivery).toMatchObject({ leaseId: 'req_1', dueAt: leasedUntil })
  })

  it('a newer version gets all its tries, however the version before ended', () => {
    const protocol = { failedSends: 3, unclear: 2, preparations: 3 }
    const failed = aDelivery({ status: 'FAILED', wait: null, closedAt: now, protocol })
    expect(next(failed, end)?.delivery.protocol).toEqual({})
  })

  it('versions that were replaced before they were sent are counted', () => {
    const second = next(aDelivery(), progress)!.delivery
    expect(second.coalesced).toBe(1)
    expect(next(second, end)?.delivery.coalesced).toBe(2)
    expect(next(aSentOne(), progress)?.delivery.coalesced).toBe(0)
  })
})

describe('an output that only closes', () => {
  const closing = aRunOutput({
    ...words('called off'),
    final: true,
    announces: false,
    closesOnly: true,
  })

  it('skips a delivery that was never sent, and takes the lease from its sender', () => {
    const revision = next(aDelivery({ leaseId: 'req_1', leasedUntil: now + 1 }), closing)
    expect(revision?.delivery).toMatchObject({
      ...{ status: 'SKIPPED', reason: 'never_announced', versionSeq: 2, leaseId: null },
    })
    expect(revision?.audits).toMatchObject([{ type: 'delivery.skipped' }])
  })

  it.each([
    ['that was sent', aSentOne()],
    ['that may be on its way', aDelivery({ announcedFence: 10, attemptId: 'att_1' })],
    [
      'that an earlier claim left in progress',
      aDelivery({ announcedFence: 5, protocol: { showsWork: true } }),
    ],
  ])('closes a delivery %s', (_name, existing) => {
    expect(next(existing, closing)?.delivery).toMatchObject({
      ...{ status: 'PENDING', final: true, announces: false, versionSeq: 2 },
    })
  })
})
