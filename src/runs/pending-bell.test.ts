import { expect, it } from 'vitest'
import { systemScheduler } from '../scheduler.ts'
import { PendingBell } from './pending-bell.ts'

const long = 60_000
const nothing = { availableTypes: () => Promise.resolve([]) }

/** Which of the waiting have been woken, by name. */
function waiting(bell: PendingBell, waiters: Record<string, readonly string[] | undefined>) {
  const woken: string[] = []
  const stop = new AbortController()
  const all = Object.entries(waiters).map(([name, types]) =>
    bell.wait({ types, isPicky: name.startsWith('picky') }, long, stop.signal).then(() => {
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
  const bell = new PendingBell(nothing, systemScheduler)
  const workers = waiting(bell, { first: undefined, second: undefined })
  bell.ring('review')
  expect(await workers.woken()).toEqual(['first'])
  bell.ring('review')
  expect(await workers.woken()).toEqual(['first', 'second'])
  bell.ring('review')
  await workers.end()
})

it('a ring passes over workers of other types', async () => {
  const bell = new PendingBell(nothing, systemScheduler)
  const workers = waiting(bell, { docs: ['docs'], review: ['lint', 'review'] })
  bell.ring('review')
  expect(await workers.woken()).toEqual(['review'])
  await workers.end()
})

it('a worker that may take every run is woken before one that may not', async () => {
  const bell = new PendingBell(nothing, systemScheduler)
  const workers = waiting(bell, { picky: undefined, free: undefined })
  bell.ring('review')
  expect(await workers.woken()).toEqual(['free'])
  bell.ring('review')
  expect(await workers.woken()).toEqual(['free', 'picky'])
  await workers.end()
})

it('a wait ends by itself, and at once for somebody who has gone', async () => {
  const bell = new PendingBell(nothing, systemScheduler)
  await bell.wait({ types: undefined, isPicky: false }, 1)
  await bell.wait({ types: undefined, isPicky: false }, long, AbortSignal.abort())
})

it('one look at the store serves all that wait, and none is made while nobody does', async () => {
  const timers: (() => void)[] = []
  const scheduler = {
    ...systemScheduler,
    afterInBackground: (_ms: number, task: () => void) => {
      timers.push(task)
      return () => undefined
    },
  }
  const asked: { types: readonly string[]; any: boolean }[] = []
  const store = {
    availableTypes: (types: readonly string[], any: boolean) => {
      asked.push({ types, any })
      return Promise.resolve(['review'])
    },
  }
  const bell = new PendingBell(store, scheduler)
  expect(timers).toHaveLength(0)
  const crowd = Array.from({ length: 500 }, (_, i) => [`w${i}`, ['review', 'lint']] as const)
  const workers = waiting(bell, Object.fromEntries([...crowd, ['last', undefined]]))
  expect(timers).toHaveLength(1)
  timers.shift()?.()
  expect(await workers.woken()).toEqual(['w0'])
  expect(asked).toEqual([{ types: ['review', 'lint'], any: true }])
  expect(timers).toHaveLength(1)
  await workers.end()
})
