import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Scheduler } from '../../scheduler.ts'
import { systemScheduler } from '../../scheduler.ts'
import type { Refusals } from '../../store/token-store.ts'
import { FailedAccess } from './failed-access.ts'

const audited: Refusals[][] = []
const delays: number[] = []
const scheduler: Scheduler = {
  soon: (task) => systemScheduler.soon(task),
  after: (ms, task) => {
    delays.push(ms)
    return systemScheduler.after(0, task)
  },
  afterInBackground: () => () => undefined,
}
const store = {
  tokens: {
    noteRefusals: async (refusals: readonly Refusals[]) => void audited.push([...refusals]),
  },
}
let failures: FailedAccess
beforeEach(() => {
  audited.length = 0
  delays.length = 0
  failures = new FailedAccess(store, scheduler, pino({ level: 'silent' }))
})

describe('refused credentials', () => {
  const rowOf = (address: string, what: 'token' | 'signature', count: number) =>
    ({ address, what, count }) as const

  test('are audited at once, and then once per minute, address and kind', async () => {
    await failures.refused('192.0.2.1', 'token')
    await failures.refused('192.0.2.1', 'signature')
    expect(audited.flat()).toEqual([
      rowOf('192.0.2.1', 'token', 1),
      rowOf('192.0.2.1', 'signature', 1),
    ])
    for (let n = 0; n < 6; n += 1) await failures.refused('192.0.2.1', 'token')
    expect(audited.flat()).toHaveLength(2)
    await failures.flush()
    expect(audited.flat().slice(2)).toEqual([rowOf('192.0.2.1', 'token', 6)])
    await failures.flush()
    expect(audited.flat()).toHaveLength(3)
  })

  test('that continue are reported only at the end of each minute', async () => {
    for (let minute = 0; minute < 3; minute += 1) {
      for (let n = 0; n < 5; n += 1) await failures.refused('192.0.2.1', 'token')
      await failures.flush()
    }
    expect(audited.flat().map(({ count }) => count)).toEqual([1, 4, 5, 5])
  })

  test('are all reported when the server stops, also those that are being written', async () => {
    const writing = Promise.withResolvers<undefined>()
    const slow = {
      tokens: {
        noteRefusals: async (refusals: readonly Refusals[]) => {
          await writing.promise
          audited.push([...refusals])
        },
      },
    }
    failures = new FailedAccess(slow, scheduler, pino({ level: 'silent' }))
    for (let n = 1; n <= 3; n += 1) await failures.refused(`192.0.2.${n}`, 'token')
    const flushed = failures.flush()
    writing.resolve(undefined)
    await flushed
    expect(audited.map((rows) => rows.length)).toEqual([1, 2])
  })

  test('from more and more addresses do not fill the audit', async () => {
    for (let n = 0; n < 5000; n += 1) await failures.refused(`address ${n % 2500}`, 'token')
    await failures.flush()
    const others = audited.flat().filter(({ address }) => address === 'other addresses')
    expect(others.map(({ count }) => count)).toEqual([1, 4799])
    expect(audited.flat()).toHaveLength(202)
  })

  test('are answered more and more slowly, up to a limit, per address', async () => {
    for (let n = 0; n < 10; n += 1) await failures.refused('192.0.2.1', 'token')
    expect(delays).toEqual([])
    for (let n = 0; n < 8; n += 1) await failures.refused('192.0.2.1', 'token')
    expect(delays).toEqual([50, 100, 200, 400, 800, 1600, 2000, 2000])
    await failures.refused('192.0.2.2', 'token')
    expect(delays).toHaveLength(8)
  })

  test('wait only in a limited number', async () => {
    for (let n = 0; n < 10; n += 1) await failures.refused('192.0.2.1', 'token')
    const all = Array.from({ length: 3000 }, () => failures.refused('192.0.2.1', 'token'))
    expect(delays).toHaveLength(1000)
    await Promise.all(all)
  })
})
