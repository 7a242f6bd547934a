import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Scheduler } from '../scheduler.ts'
import { systemScheduler } from '../scheduler.ts'
import type { Refusals } from '../token-store.ts'
import { FailedAccess } from './failed-access.ts'

const audited: Refusals[][] = []
const delays: number[] = []
let minuteOver: () => void
const scheduler: Scheduler = {
  soon: (task) => systemScheduler.soon(task),
  after: (ms, task) => {
    delays.push(ms)
    return systemScheduler.after(0, task)
  },
  afterInBackground: (_ms, task) => {
    minuteOver = task
    return () => undefined
  },
}
const store = {
  noteRefusals: async (refusals: readonly Refusals[]) => void audited.push([...refusals]),
}
let failures: FailedAccess
beforeEach(() => {
  audited.length = 0
  delays.length = 0
  failures = new FailedAccess(store, scheduler, pino({ level: 'silent' }))
})

describe('refused credentials', () => {
  test('are audited once per minute, address and kind', async () => {
    for (let n = 0; n < 7; n += 1) await failures.refused('192.0.2.1', 'token')
    await failures.refused('192.0.2.2', 'token')
    await failures.refused('192.0.2.1', 'signature')
    expect(audited).toEqual([])
    minuteOver()
    expect(audited).toEqual([
      [
        { address: '192.0.2.1', what: 'token', count: 7 },
        { address: '192.0.2.2', what: 'token', count: 1 },
        { address: '192.0.2.1', what: 'signature', count: 1 },
      ],
    ])
    await failures.flush()
    expect(audited).toHaveLength(1)
  })

  test('from ever more addresses do not fill the audit', async () => {
    for (let n = 0; n < 5000; n += 1) await failures.refused(`address ${n % 2500}`, 'token')
    await failures.flush()
    expect(audited[0]).toHaveLength(101)
    expect(audited[0]?.at(-1)).toEqual({ address: 'other addresses', what: 'token', count: 4800 })
  })

  test('are answered ever more slowly, up to a bound, per address', async () => {
    for (let n = 0; n < 10; n += 1) await failures.refused('192.0.2.1', 'token')
    expect(delays).toEqual([])
    for (let n = 0; n < 8; n += 1) await failures.refused('192.0.2.1', 'token')
    expect(delays).toEqual([50, 100, 200, 400, 800, 1600, 2000, 2000])
    await failures.refused('192.0.2.2', 'token')
    expect(delays).toHaveLength(8)
  })

  test('wait in a number that is bounded too', async () => {
    for (let n = 0; n < 10; n += 1) await failures.refused('192.0.2.1', 'token')
    const all = Array.from({ length: 3000 }, () => failures.refused('192.0.2.1', 'token'))
    expect(delays).toHaveLength(1000)
    await Promise.all(all)
  })
})
