import { expect, it } from 'vitest'
import { systemScheduler } from '../scheduler.ts'
import { PendingBell } from './pending-bell.ts'

const long = 60_000

/** Which of the waiting have been woken, by name. */
function waiting(bell: PendingBell, waiters: Record<string, string[] | undefined>) {
  const woken: string[] = []
  const stop = new AbortController()
  const all = Object.entries(waiters).map(([name, types]) =>
    bell.wait(types, long, stop.signal).then(() => {
      if (!stop.signal.aborted) woken.push(name)
    }),
  )
  return {
    async woken(): Promise<string[]> {
      await new Promise((resolve) => setImmediate(resolve))
      return woken
    },
    async end(): Promise<void> {
      stop.abort()
      await Promise.all(all)
    },
  }
}

it('one ring wakes one worker, the one that has waited longest', async () => {
  const bell = new PendingBell(systemScheduler)
  const workers = waiting(bell, { first: undefined, second: undefined })
  bell.ring('review')
  expect(await workers.woken()).toEqual(['first'])
  bell.ring('review')
  expect(await workers.woken()).toEqual(['first', 'second'])
  bell.ring('review')
  await workers.end()
})

it('a ring passes over workers of other types', async () => {
  const bell = new PendingBell(systemScheduler)
  const workers = waiting(bell, { docs: ['docs'], review: ['lint', 'review'] })
  bell.ring('review')
  expect(await workers.woken()).toEqual(['review'])
  await workers.end()
})

it('a wait ends by itself, and at once for somebody who has gone', async () => {
  const bell = new PendingBell(systemScheduler)
  await bell.wait(undefined, 1)
  await bell.wait(undefined, long, AbortSignal.abort())
})
