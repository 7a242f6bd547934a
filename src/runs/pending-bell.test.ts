import { expect, it } from 'vitest'
import { systemScheduler } from '../scheduler.ts'
import type { StorePart } from '../store.ts'
import { PendingBell } from './pending-bell.ts'

const long = 60_000
const nothing = { runs: { availableTypes: () => Promise.resolve([]) } }

/** By its name: `of acme` may take runs of acme's repositories only, `certain` wants one run. */
function limitsOf(name: string) {
  const owner = /^of (\w+)/.exec(name)?.[1]
  const repositories = owner === undefined ? null : [{ pattern: `${owner}/*`, repositoryId: null }]
  return { repositories, isCertain: name.startsWith('certain') }
}

const any = { types: undefined, repositories: null, isCertain: false }

/** Which of the waiting have been woken, by name. */
function waiting(bell: PendingBell, waiters: Record<string, readonly string[] | undefined>) {
  const woken: string[] = []
  const stop = new AbortController()
  const all = Object.entries(waiters).map(([name, types]) =>
    bell.wait({ types, ...limitsOf(name) }, long, stop.signal).then(() => {
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

it.each(['of acme', 'certain'])(
  'a worker that may take every run is woken before %s',
  async (name) => {
    const bell = new PendingBell(nothing, systemScheduler)
    const workers = waiting(bell, { [name]: undefined, free: undefined })
    bell.ring('review')
    expect(await workers.woken()).toEqual(['free'])
    bell.ring('review')
    expect(await workers.woken()).toEqual(['free', name])
    await workers.end()
  },
)

it('a wait ends by itself, and at once for somebody who has gone', async () => {
  const bell = new PendingBell(nothing, systemScheduler)
  await bell.wait(any, 1)
  await bell.wait(any, long, AbortSignal.abort())
})

/** A store where runs can be leased, by owner, and timers that a test fires. */
function pollingScene(available: Readonly<Record<string, readonly string[]>>) {
  const timers: (() => void)[] = []
  const scheduler = {
    ...systemScheduler,
    afterInBackground: (_ms: number, task: () => void) => {
      timers.push(task)
      return () => undefined
    },
  }
  const asked: string[] = []
  const store: StorePart<{ runs: 'availableTypes' }> = {
    runs: {
      availableTypes: async (types, orAny, repositories) => {
        const owner = repositories?.[0]?.pattern ?? 'all'
        asked.push(`${owner}: ${types.join()}${orAny ? ' or any' : ''}`)
        return available[owner] ?? []
      },
    },
  }
  return { bell: new PendingBell(store, scheduler), timers, asked }
}

it('one look at the store serves all that wait, and none is made while nobody does', async () => {
  const { bell, timers, asked } = pollingScene({ all: ['review'] })
  expect(timers).toHaveLength(0)
  const crowd = Array.from({ length: 500 }, (_, i) => [`w${i}`, ['review', 'lint']] as const)
  const workers = waiting(bell, Object.fromEntries([...crowd, ['last', undefined]]))
  expect(timers).toHaveLength(1)
  timers.shift()?.()
  expect(await workers.woken()).toEqual(['w0'])
  expect(asked).toEqual(['all: review,lint or any'])
  expect(timers).toHaveLength(1)
  await workers.end()
})

it('those with equal limits share one look, and only who can take something is woken', async () => {
  const { bell, timers, asked } = pollingScene({ 'acme/*': ['review'] })
  const crowd = Array.from({ length: 500 }, (_, i): [string, string[]] => {
    return [`of ${i % 2 === 0 ? 'corp' : 'acme'} ${i}`, ['review']]
  })
  const workers = waiting(bell, { ...Object.fromEntries(crowd), certain: undefined })
  timers.shift()?.()
  expect(await workers.woken()).toEqual(['of acme 1'])
  expect(asked).toEqual(['corp/*: review', 'acme/*: review'])
  await workers.end()
})
