/** Goal: no identity writes more than it may, progress uses at most half, and nothing starves. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Budget,
  type BudgetLimits,
  block,
  newBudget,
  refuse,
  takeWrite,
  unblock,
  useOf,
} from './budget.ts'

const minute = 60_000
const hour = 60 * minute
const start = Date.UTC(2026, 0, 1)

interface Write {
  readonly at: number
  readonly isProgress: boolean
}

/** Asks at every moment of the plan. Returns what was granted, in order. */
function play(
  limits: BudgetLimits,
  plan: readonly { readonly afterMs: number; readonly isProgress: boolean }[],
): {
  readonly writes: readonly Write[]
  readonly refusals: readonly (Write & { until: number })[]
} {
  let budget = newBudget('token', start)
  let now = start
  const writes: Write[] = []
  const refusals: (Write & { until: number })[] = []
  for (const { afterMs, isProgress } of plan) {
    now += afterMs
    const grant = takeWrite(budget, limits, isProgress ? 'progress' : 'first', now)
    if (grant.granted) {
      budget = grant.budget
      writes.push({ at: now, isProgress })
    } else refusals.push({ at: now, isProgress, until: grant.until })
  }
  return { writes, refusals }
}

/** The highest number of writes within any period of this length. */
function mostWithin(writes: readonly Write[], ms: number): number {
  const counts = writes.map(
    ({ at }) => writes.filter((other) => other.at >= at && other.at < at + ms).length,
  )
  return Math.max(0, ...counts)
}

const limitsOf = fc.record({
  spacingMs: fc.constantFrom(0, 250, 1000),
  perMinute: fc.integer({ min: 1, max: 20 }),
  perHour: fc.integer({ min: 1, max: 60 }),
})
const planOf = (maxMs: number) =>
  fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: maxMs }), isProgress: fc.boolean() }), {
    minLength: 1,
    maxLength: 250,
  })

it.each([
  ['a burst', 400],
  ['minutes', 8000],
  ['hours', 200_000],
])('no minute and no hour has more writes than allowed: %s', (_name, maxMs) => {
  fc.assert(
    fc.property(limitsOf, planOf(maxMs), (limits, plan) => {
      const { writes } = play(limits, plan)
      const progress = writes.filter(({ isProgress }) => isProgress)
      const half = (max: number) => Math.max(1, Math.floor(max / 2))
      expect(mostWithin(writes, minute)).toBeLessThanOrEqual(limits.perMinute)
      expect(mostWithin(writes, hour)).toBeLessThanOrEqual(limits.perHour)
      expect(mostWithin(progress, minute)).toBeLessThanOrEqual(half(limits.perMinute))
      expect(mostWithin(progress, hour)).toBeLessThanOrEqual(half(limits.perHour))
      expect(mostWithin(writes, limits.spacingMs)).toBeLessThanOrEqual(1)
    }),
    { seed: 9 },
  )
})

it.each([
  ['minute', { spacingMs: 0, perMinute: 1, perHour: 0 }, minute, 999],
  ['hour', { spacingMs: 0, perMinute: 0, perHour: 1 }, hour, minute - 1],
])('the last write of a slot counts for its whole %s', (_name, limits, ms, into) => {
  const written = take(newBudget('token', start), limits, start + into)
  expect(takeWrite(written, limits, 'first', start + into + ms - 1).granted).toBe(false)
  expect(takeWrite(written, limits, 'first', start + into + ms + 1).granted).toBe(true)
})

it('a caller that waits until the given time may write, if no other caller wrote meanwhile', () => {
  fc.assert(
    fc.property(limitsOf, planOf(8000), fc.boolean(), (limits, plan, isProgress) => {
      let budget = newBudget('token', start)
      let now = start
      for (const step of plan) {
        now += step.afterMs
        const grant = takeWrite(budget, limits, step.isProgress ? 'progress' : 'first', now)
        if (grant.granted) budget = grant.budget
      }
      // At most one wait for each limit.
      for (let waits = 0; waits <= 3; waits += 1) {
        const grant = takeWrite(budget, limits, isProgress ? 'progress' : 'first', now)
        if (grant.granted) return
        expect(grant.until).toBeGreaterThan(now)
        expect(grant.until).toBeLessThanOrEqual(now + hour + minute)
        now = grant.until
      }
      expect.fail('it was told to wait again and again')
    }),
    { seed: 10 },
  )
})

it('the end of a run is sent, however much progress there is', () => {
  const limits = { spacingMs: 0, perMinute: 10, perHour: 0 }
  const progress = Array.from({ length: 50 }, () => ({ afterMs: 10, isProgress: true }))
  const ends = Array.from({ length: 5 }, () => ({ afterMs: 10, isProgress: false }))
  const { writes } = play(limits, [...progress, ...ends])
  expect(writes.filter(({ isProgress }) => isProgress)).toHaveLength(5)
  expect(writes.filter(({ isProgress }) => !isProgress)).toHaveLength(5)
})

it('a budget of one write still lets progress be sent', () => {
  const { writes } = play({ spacingMs: 0, perMinute: 1, perHour: 1 }, [
    { afterMs: 0, isProgress: true },
  ])
  expect(writes).toHaveLength(1)
})

it('zero switches a limit off', () => {
  const plan = Array.from({ length: 500 }, () => ({ afterMs: 0, isProgress: true }))
  const { writes } = play({ spacingMs: 0, perMinute: 0, perHour: 0 }, plan)
  expect(writes).toHaveLength(500)
})

it('a block refuses all writes until it ends, and a later answer does not shorten it', () => {
  const none = { spacingMs: 0, perMinute: 0, perHour: 0 }
  const blocked = block(newBudget('token', start), start + 5000, 'rate_limited', start)
  const shorter = block(blocked, start + 1000, 'rate_limited', start)
  const grant = takeWrite(shorter, none, 'first', start + 4999)
  expect(grant).toMatchObject({ granted: false, until: start + 5000, why: 'blocked' })
  const after = takeWrite(shorter, none, 'first', start + 5000)
  expect(after).toMatchObject({ granted: true, budget: { blockedUntil: null } })
})

it('a clock that was set back delays a write at most by the spacing', () => {
  const limits = { spacingMs: 1000, perMinute: 80, perHour: 500 }
  const written = take(newBudget('token', start), limits, start)
  const grant = takeWrite(written, limits, 'first', start - 10 * minute)
  expect(grant.granted).toBe(true)
  const close = takeWrite(written, limits, 'first', start - 200)
  expect(close).toMatchObject({ granted: false, until: start - 200 + 800, why: 'spacing' })
})

it('the use counts the writes of a window, and drops them when the window is over', () => {
  const limits = { spacingMs: 0, perMinute: 80, perHour: 500 }
  let budget = newBudget('token', start)
  for (let n = 0; n < 5; n += 1) budget = take(budget, limits, start + n * 1000)
  expect(useOf(budget, start + 4000)).toEqual({
    minute: { all: 5, progress: 0, further: 0 },
    hour: { all: 5, progress: 0, further: 0 },
  })
  expect(useOf(budget, start + 2 * minute).minute.all).toBe(0)
  expect(useOf(budget, start + 2 * hour).hour.all).toBe(0)
})

it('a budget stores only what its windows need, however long it is used', () => {
  const limits = { spacingMs: 0, perMinute: 0, perHour: 0 }
  let budget = newBudget('token', start)
  for (let n = 0; n < 20_000; n += 1) budget = take(budget, limits, start + n * 900)
  expect(budget.seconds.length).toBeLessThanOrEqual(62)
  expect(budget.minutes.length).toBeLessThanOrEqual(62)
})

function take(budget: Budget, limits: BudgetLimits, now: number): Budget {
  const grant = takeWrite(budget, limits, 'first', now)
  if (!grant.granted) throw new Error('refused')
  return grant.budget
}

describe('an identity whose credentials GitHub refuses', () => {
  const minute = 60_000
  const at = Date.UTC(2026, 5, 1)

  it('is tried again after a minute, then less and less often, at least every 15 minutes', () => {
    let budget = newBudget('me', at)
    const waits: number[] = []
    for (let now = at; waits.length < 8; now = budget.blockedUntil ?? now) {
      budget = refuse(budget, 'unauthorized', now)
      waits.push(((budget.blockedUntil ?? now) - now) / minute)
    }
    expect(waits).toEqual([1, 1, 2, 4, 8, 15, 15, 15])
    expect(budget).toMatchObject({ blockedSince: at, blockedReason: 'unauthorized' })
  })

  it('does not wait longer when several requests are refused at once', () => {
    const once = refuse(newBudget('me', at), 'unauthorized', at)
    expect(refuse(once, 'unauthorized', at + 1)).toBe(once)
  })

  it('starts with a short wait again after a pause, or when the block is lifted', () => {
    const once = refuse(newBudget('me', at), 'unauthorized', at)
    const later = at + 10 * 60 * minute
    expect(refuse(once, 'unauthorized', later).blockedSince).toBe(later)
    expect(unblock(once, at)).toMatchObject({ blockedUntil: null, blockedSince: null })
  })
})
