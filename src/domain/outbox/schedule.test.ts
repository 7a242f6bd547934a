/** Goal: when deliveries are tried again, sent and looked for. */
import { describe, expect, it } from 'vitest'
import {
  backoffMs,
  deadlineFor,
  defaultPublishing as rules,
  scanAt,
  settleAt,
  windowMs,
} from './schedule.ts'

const second = 1000
const minute = 60 * second

it('a request times out before its lease ends', () => {
  const { requestTimeoutMs, leaseMarginMs, deliveryLeaseMs } = rules
  expect(requestTimeoutMs + leaseMarginMs).toBeLessThan(deliveryLeaseMs)
})

it('a retry comes after 1, 2 and 4 seconds, then less and less often, with random spread', () => {
  expect([1, 2, 3].map((tries) => backoffMs(tries, 0.9, rules.retry))).toEqual([1000, 2000, 4000])
  const slow = Array.from({ length: 20 }, (_, i) => backoffMs(i + 4, 0, rules.retry))
  expect(slow[0]).toBe(15 * second)
  expect(slow).toEqual(slow.toSorted((a, b) => a - b))
  expect(slow.at(-1)).toBe(15 * minute)
  expect(backoffMs(4, 0.999, rules.retry)).toBeGreaterThan(18 * second)
  expect(backoffMs(4, 0.999, rules.retry)).toBeLessThan(19 * second)
})

it('a state has a deadline of one day, a message of three days', () => {
  expect(deadlineFor('state', 5, rules)).toBe(5 + 24 * 60 * minute)
  expect(deadlineFor('message', 5, rules)).toBe(5 + 72 * 60 * minute)
})

describe('the window of progress', () => {
  it.each([
    [0, 2],
    [59.999, 2],
    [60, 10],
    [599.999, 10],
    [600, 60],
    [86_400, 60],
  ])('after %s seconds of being shown is %s seconds', (shown, window) => {
    expect(windowMs(shown * second, rules)).toBe(window * second)
  })

  it('is zero if coalescing is off', () => {
    expect(windowMs(600 * second, { ...rules, coalesceMs: 0 })).toBe(0)
  })
})

it('a settle reads after 15 s, 2 min and 15 min, and a scan looks after 1 and 15 min', () => {
  const settles = [0, 1, 2, 3].map((step) => settleAt(step, 0, rules))
  expect(settles).toEqual([15 * second, 2 * minute, 15 * minute, null])
  expect([0, 1, 2].map((step) => scanAt(step, 0, rules))).toEqual([minute, 15 * minute, null])
})
