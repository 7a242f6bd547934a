// Goal: how settings in days become limits, and that a purge goes on until nothing is left.
import { expect, it } from 'vitest'
import { purgeAll, purgeLimits, withFinishedDays } from './purge.ts'

const day = 24 * 60 * 60 * 1000
const retention = { finishedDays: 30, supersededDays: 7, inboxDays: 7, auditDays: 90 }

it('the retentions are days', () => {
  expect(purgeLimits(retention)).toEqual({
    finishedMs: 30 * day,
    supersededMs: 7 * day,
    eventMs: 7 * day,
    auditMs: 90 * day,
  })
})

it('superseded runs never outlive finished ones', () => {
  expect(purgeLimits({ ...retention, finishedDays: 3 }).supersededMs).toBe(3 * day)
})

it.each([
  [60, 60, 7],
  [30, 30, 7],
  [2, 2, 2],
  [0, 0, 0],
])('for %d days finished runs have %d and superseded ones %d', (days, finished, superseded) => {
  const limits = purgeLimits(withFinishedDays(retention, days))
  expect(limits.finishedMs).toBe(finished * day)
  expect(limits.supersededMs).toBe(superseded * day)
})

it('bites are taken until none is left, and the runs in them counted', async () => {
  const bites = [
    { runs: 500, more: true },
    { runs: 0, more: true },
    { runs: 20, more: false },
    { runs: 99, more: false },
  ]
  const store = { upkeep: { purge: async () => bites.shift() ?? { runs: 0, more: false } } }
  expect(await purgeAll(store, purgeLimits(retention), 'test')).toBe(520)
  expect(bites).toHaveLength(1)
})
