// Goal: doctor finds what stops publishing, oldest first, with what to do.
import { describe, expect, it, test } from 'vitest'
import type { Budget } from '../domain/outbox/budget.ts'
import { newBudget, takeWrite } from '../domain/outbox/budget.ts'
import { deliveryWaits } from '../domain/outbox/delivery.ts'
import { defaultPublishing } from '../domain/outbox/schedule.ts'
import type { LingeringDelivery, OutboxBacklog } from '../store/outbox-store.ts'
import { checkAuthors, checkBudgets, checkDeliveries, checkLimits } from './publishing.ts'

const rules = defaultPublishing
const minute = 60_000
const now = Date.parse('2026-01-31T12:00:00Z')
const limits = { spacingMs: 1000, perMinute: 80, perHour: 500 }
const nothing: OutboxBacklog = {
  open: { due: 0, order: 0, leased: 0, backoff: 0, budget: 0, in_doubt: 0, held: 0, no_address: 0 },
  oldestAt: null,
  oldest: [],
  failed: 0,
  oldestFailed: [],
  unreported: [],
  unreportedCount: 0,
}

const lingering = (over: Partial<LingeringDelivery> = {}): LingeringDelivery => ({
  runId: 'run_1',
  deliveryId: 'dlv_1',
  channel: 'github-comment',
  status: 'PENDING',
  wait: 'held',
  since: now - 20 * minute,
  reason: null,
  ...over,
})

describe('deliveries', () => {
  it('are ok when none is open, failed or unreported', () => {
    expect(checkDeliveries(nothing, now).map(({ level }) => level)).toEqual(['ok', 'ok', 'ok'])
  })

  it('may be open for a while', () => {
    const open = { ...nothing.open, due: 1 }
    const fresh = { ...nothing, open, oldest: [lingering({ since: now - minute })] }
    expect(checkDeliveries(fresh, now)[0]).toMatchObject({ level: 'ok' })
  })

  it.each(deliveryWaits)('that have the wait %s for long are named, with what to do', (wait) => {
    const open = { ...nothing.open, [wait]: 2 }
    const oldest = [lingering({ wait }), lingering({ deliveryId: 'dlv_2', since: now - minute })]
    const [found] = checkDeliveries({ ...nothing, open, oldest }, now)
    expect(found).toMatchObject({ check: 'deliveries', level: 'warning' })
    expect(found?.detail).toContain(
      `oldest first: dlv_1 (github-comment, ${wait} for 20 min); dlv_2`,
    )
    expect(found?.remedy).not.toBe('')
  })

  it('that failed are named with their reason', () => {
    const oldestFailed = [lingering({ status: 'FAILED', wait: null, reason: 'forbidden' })]
    const [, found] = checkDeliveries({ ...nothing, failed: 1, oldestFailed }, now)
    expect(found).toMatchObject({ check: 'deliveries.failed', level: 'warning' })
    expect(found?.detail).toContain('dlv_1 (github-comment, forbidden)')
    expect(found?.remedy).toContain('holdfast deliveries retry --all')
  })

  it('that are open can leave an ended run shown as in progress', () => {
    const unreported = [lingering()]
    const [, , found] = checkDeliveries({ ...nothing, unreported, unreportedCount: 1 }, now)
    expect(found).toMatchObject({ check: 'runs.unreported', level: 'warning' })
    expect(found?.detail).toContain('run_1 (dlv_1 is PENDING)')
    const fresh = { ...nothing, unreported: [lingering({ since: now })], unreportedCount: 1 }
    expect(checkDeliveries(fresh, now)[2]).toMatchObject({ level: 'ok' })
  })
})

it.each([
  ['open', { open: { ...nothing.open, due: 600, held: 400 }, failed: 1 }, [true, false, true]],
  ['failed', { failed: 1000 }, [false, true, true]],
  ['neither', { open: { ...nothing.open, due: 999 }, failed: 999 }, [false, false, false]],
])('a count that stopped at its limit is called the least: %s', (_name, counts, isLeast) => {
  const some = { oldest: [lingering()], oldestFailed: [lingering()], unreported: [lingering()] }
  const findings = checkDeliveries({ ...nothing, unreportedCount: 30, ...some, ...counts }, now)
  expect(findings.map(({ detail }) => detail.startsWith('At least '))).toEqual(isLeast)
})

describe('budgets', () => {
  it('are ok, blocked until a time, or nearly used up', () => {
    const fresh = newBudget('github:user', now)
    expect(checkBudgets([fresh], limits, rules, now)).toMatchObject([{ level: 'ok' }])
    const blocked = { ...fresh, blockedUntil: now + minute, blockedReason: 'rate_limited' }
    expect(checkBudgets([blocked], limits, rules, now)).toMatchObject([
      { check: 'budgets.blocked', level: 'warning' },
    ])
    expect(
      checkBudgets([{ ...blocked, blockedUntil: now - 1 }], limits, rules, now)[0]?.level,
    ).toBe('ok')
    const long = { check: 'budgets.blocked_long', level: 'problem' }
    const for23Days = { ...blocked, blockedUntil: now + 23 * 24 * 60 * minute }
    expect(checkBudgets([for23Days], limits, rules, now)).toMatchObject([
      {
        ...long,
        detail: expect.stringContaining('What waits for it fails 7 days after it was wanted'),
        remedy: expect.stringContaining(`holdfast budgets unblock ${fresh.identity}`),
      },
    ])
    const for2Days = { ...blocked, blockedUntil: now + 2 * 24 * 60 * minute }
    expect(checkBudgets([for2Days], limits, rules, now)[0]?.detail).not.toContain('fails')
    for (const each of [blocked, for2Days, for23Days]) {
      expect(JSON.stringify(checkBudgets([each], limits, rules, now))).not.toContain('is lost')
    }
    const againAndAgain = { ...blocked, blockedSince: now - 61 * minute }
    expect(checkBudgets([againAndAgain], limits, rules, now)).toMatchObject([long])
    expect(checkBudgets([used(450)], limits, rules, now)[0]?.check).toBe('budgets.spent')
    expect(checkBudgets([used(440)], limits, rules, now)[0]?.level).toBe('ok')
    expect(checkBudgets([used(450)], { ...limits, perHour: 0 }, rules, now)[0]?.level).toBe('ok')
  })

  function used(writes: number): Budget {
    let budget = newBudget('github:user', now)
    const free = { spacingMs: 0, perMinute: 0, perHour: 0 }
    for (let i = 0; i < writes; i++) {
      const grant = takeWrite(budget, free, 'first', now)
      if (grant.granted) budget = grant.budget
    }
    return budget
  }
})

test('the own account matters once there is something to publish', () => {
  const waiting = { ...nothing, oldest: [lingering()] }
  expect(checkAuthors([], nothing)[0]?.level).toBe('ok')
  expect(checkAuthors([], waiting)[0]?.level).toBe('warning')
  expect(checkAuthors([{ kind: 'app', githubId: 12 }], waiting)[0]?.detail).toContain('app 12')
})

test.each([
  [limits, []],
  [{ spacingMs: 0, perMinute: 80, perHour: 500 }, []],
  [{ spacingMs: 10_000, perMinute: 80, perHour: 500 }, ['allows 360 writes an hour']],
  [{ spacingMs: 1000, perMinute: 600, perHour: 500 }, ['a busy minute uses up the hour']],
  [{ spacingMs: 0, perMinute: 0, perHour: 0 }, ['No limit is set']],
])('the limits %o lead to these warnings: %o', (given, doubts) => {
  const found = checkLimits(given)
  expect(found.map(({ level }) => level)).toEqual(doubts.map(() => 'warning'))
  doubts.forEach((doubt, i) => expect(found[i]?.detail).toContain(doubt))
})
