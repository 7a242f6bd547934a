// Goal: settings in days become limits, and a purge continues until nothing is left.
import { expect, it } from 'vitest'
import { purgeAll, purgeLimits, withFinishedDays } from './purge.ts'

const day = 24 * 60 * 60 * 1000
const retention = { finishedDays: 30, supersededDays: 7, inboxDays: 7, auditDays: 90 }

it('retentions are given in days', () => {
  expect(purgeLimits(retention)).toEqual({
    finishedMs: 30 * day,
    supersededMs: 7 * day,
    eventMs: 7 * day,
    auditMs: 90 * day,
  })
})

it('superseded runs are never kept longer than finished ones', () => {
  expect(purgeLimits({ ...retention, finishedDays: 3 }).supersededMs).toBe(3 * day)
})

it.each([
  [60, 60, 7],
  [30, 30, 7],
  [2, 2, 2],
  [0, 0, 0],
])(
  'with %d days, finished runs are kept for %d and superseded ones for %d',
  (days, finished, superseded) => {
    const limits = purgeLimits(withFinishedDays(retention, days))
    expect(limits.finishedMs).toBe(finished * day)
    expect(limits.supersededMs).toBe(superseded * day)
  },
)

it('a purge continues in batches until none is left, and counts the runs', async () => {
  const batches = [
    { runs: 500, more: true },
    { runs: 0, more: true },
    { runs: 20, more: false },
    { runs: 99, more: false },
  ]
  const store = { upkeep: { purge: async () => batches.shift() ?? { runs: 0, more: false } } }
  expect(await purgeAll(store, purgeLimits(retention), 'test')).toBe(520)
  expect(batches).toHaveLength(1)
})
