/** Goal: a result is shown again exactly where another check run covers it. */
import { describe, expect, it } from 'vitest'
import { aRun, aSentOne } from '../../../test/outbox/sample-delivery.ts'
import { channelsByName } from '../../channels/github-channels.ts'
import type { Run } from '../run.ts'
import { hiddenBy, mayHide, shownRun } from './hidden-result.ts'
import type { Delivery } from './delivery.ts'

const channel = channelsByName.of('github-check')
const covered = (shown: Run, deliveries: readonly Delivery[]) =>
  hiddenBy(channel.repeatWhenHidden!, shown, deliveries)
const covers = (before: Delivery, after: Delivery) =>
  mayHide(channelsByName.of(after.channel), before, after)

const five = aRun({ id: 'run_5', round: 2, state: 'succeeded', checkName: 'review' })
const check = (run: Pick<Run, 'id' | 'round'>, id: string | null, over: Partial<Delivery> = {}) =>
  aSentOne({
    ...{ channel: 'github-check', name: 'check', final: true, runId: run.id, round: run.round },
    target: `check ${run.id} ${run.round} review`,
    content: '{"conclusion":"cancelled"}',
    providerId: id,
    ...over,
  })
const own = check(five, '9')
const other = (id: string | null) => check({ id: 'run_6', round: 1 }, id)

describe('a result', () => {
  it('is covered if the newest check run belongs to another run', () => {
    expect(covered(five, [own, other('10')])).toBe('10')
    expect(covered(five, [own, other('8')])).toBeNull()
    expect(covered(five, [own, other(null)])).toBeNull()
  })

  it('is covered if the newest check run belongs to an earlier round', () => {
    expect(covered(five, [own, check({ id: 'run_5', round: 1 }, '10')])).toBe('10')
  })

  it('is not covered if it was shown again after that', () => {
    const again = check(five, '11', { name: 'check again', target: 'check-again run_5' })
    expect(covered(five, [own, other('10'), again])).toBeNull()
    expect(covered(five, [own, again, other('12')])).toBe('12')
  })

  it('is not treated as covered while one of its own check runs is still to be sent', () => {
    const open = { status: 'PENDING', name: 'check again', target: 'check-again run_5' } as const
    expect(covered(five, [own, other('10'), check(five, null, open)])).toBeNull()
    expect(covered(five, [check(five, '9', { status: 'PENDING' }), other('10')])).toBeNull()
  })

  it('that was never shown is not shown again', () => {
    expect(covered(five, [check(five, '9', { status: 'FAILED' }), other('10')])).toBeNull()
    expect(covered(five, [other('10')])).toBeNull()
  })
})

it('an active run shows nothing again', () => {
  expect(covered({ ...five, state: 'running' }, [own, other('10')])).toBeNull()
})

it('an end without a result is covered by a result, but not by another such end', () => {
  const cancelled: Run = { ...five, state: 'cancelled' }
  expect(covered(cancelled, [own, other('10')])).toBeNull()
  const passed = check({ id: 'run_5', round: 1 }, '10', { content: '{"conclusion":"success"}' })
  expect(covered(cancelled, [own, passed])).toBe('10')
})

it('a commit shows its newest run that is active or has a result, otherwise its newest run', () => {
  const run = (id: string, state: Run['state'], errorCode: string | null = null) =>
    aRun({ id, state, errorCode })
  const stale = run('stale', 'skipped', 'stale-event')
  expect(shownRun([run('a', 'cancelled'), run('b', 'running'), run('c', 'failed')])?.id).toBe('b')
  expect(shownRun([stale, run('a', 'cancelled'), run('b', 'superseded')])?.id).toBe('a')
  expect(shownRun([stale])).toBeNull()
})

it('only a check run that was just sent, or that has a new id, can cover another one', () => {
  const before = { ...own, status: 'PENDING' } as const
  expect(covers(before, own)).toBe(true)
  expect(covers(own, own)).toBe(false)
  expect(covers(own, { ...own, providerId: '12' })).toBe(true)
  expect(covers(before, { ...own, final: false })).toBe(false)
  expect(covers(before, { ...own, status: 'FAILED' })).toBe(false)
  expect(covers(before, { ...own, name: 'lint' })).toBe(false)
})
