import { expect, it } from 'vitest'
import { systemScheduler } from '../scheduler.ts'
import type { StorePart } from '../store.ts'
import { WorkerWakeup } from './worker-wakeup.ts'

const long = 60_000
const nothing = { runs: { availableTypes: () => Promise.resolve([]) } }

/** By its name: `of acme` may take runs of acme's repositories only, `certain` wants one run. */
function limitsOf(name: string) {
  const owner = /^of (\w+)/.exec(name)?.[1]
  const repositories = owner === undefined ? null : [{ pattern: `${owner}/*`, repositoryId: null }]
  return { repositories, wantsOneRun: name.startsWith('certain') }
}

const any = { types: undefined, repositories: null, wantsOneRun: false }

/** Which of the waiting have been woken, by name. */
function waiting(wakeup: WorkerWakeup, waiters: Record<string, readonly string[] | undefined>) {
  const woken: string[] = []
  const stop = new AbortController()
  const all = Object.entries(waiters).map(([name, types]) =>
    wakeup.wait({ types, ...limitsOf(name) }, long, stop.signal).then(() => {
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
  const wakeup = new WorkerWakeup(nothing, systemScheduler, [])
  const workers = waiting(wakeup, { first: undefined, second: undefined })
  wakeup.wakeOne('review')
  expect(await workers.woken()).toEqual(['first'])
  wakeup.wakeOne('review')
  expect(await workers.woken()).toEqual(['first', 'second'])
  wakeup.wakeOne('review')
  await workers.end()
})

it('a ring passes over workers of other types', async () => {
  const wakeup = new WorkerWakeup(nothing, systemScheduler, [])
  const workers = waiting(wakeup, { docs: ['docs'], review: ['lint', 'review'] })
  wakeup.wakeOne('review')
  expect(await workers.woken()).toEqual(['review'])
  await workers.end()
})

it('a ring for a type with a function wakes only workers who name it', async () => {
  const wakeup = new WorkerWakeup(nothing, systemScheduler, ['executed'])
  const workers = waiting(wakeup, { any: undefined, named: ['executed'] })
  wakeup.wakeOne('executed')
  expect(await workers.woken()).toEqual(['named'])
  wakeup.wakeOne('review')
  expect(await workers.woken()).toEqual(['named', 'any'])
  await workers.end()
})

it.each(['of acme', 'certain'])(
  'a worker that may take every run is woken before %s',
  async (name) => {
    const wakeup = new WorkerWakeup(nothing, systemScheduler, [])
    const workers = waiting(wakeup, { [name]: undefined, free: undefined })
    wakeup.wakeOne('review')
    expect(await workers.woken()).toEqual(['free'])
    wakeup.wakeOne('review')
    expect(await workers.woken()).toEqual(['free', name])
    await workers.end()
  },
)

it('a wait ends when its time is over, and at once for a caller that has left', async () => {
  const wakeup = new WorkerWakeup(nothing, systemScheduler, [])
  await wakeup.wait(any, 1)
  await wakeup.wait(any, long, AbortSignal.abort())
})

/** A store where runs can be leased, by owner, and timers that a test fires. */
function pollingWorld(available: Readonly<Record<string, readonly string[]>>) {
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
        asked.push(`${owner}: ${types.join()}${orAny === null ? '' : ' or any'}`)
        return available[owner] ?? []
      },
    },
  }
  return { wakeup: new WorkerWakeup(store, scheduler, []), timers, asked }
}

it('one look at the store serves all waiting workers; without workers there is none', async () => {
  const { wakeup, timers, asked } = pollingWorld({ all: ['review'] })
  expect(timers).toHaveLength(0)
  const crowd = Array.from({ length: 500 }, (_, i) => [`w${i}`, ['review', 'lint']] as const)
  const workers = waiting(wakeup, Object.fromEntries([...crowd, ['last', undefined]]))
  expect(timers).toHaveLength(1)
  timers.shift()?.()
  expect(await workers.woken()).toEqual(['w0'])
  expect(asked).toEqual(['all: review,lint or any'])
  expect(timers).toHaveLength(1)
  await workers.end()
})

it('workers with equal limits share one look; only one that can take a run is woken', async () => {
  const { wakeup, timers, asked } = pollingWorld({ 'acme/*': ['review'] })
  const crowd = Array.from({ length: 500 }, (_, i): [string, string[]] => {
    return [`of ${i % 2 === 0 ? 'corp' : 'acme'} ${i}`, ['review']]
  })
  const workers = waiting(wakeup, { ...Object.fromEntries(crowd), certain: undefined })
  timers.shift()?.()
  expect(await workers.woken()).toEqual(['of acme 1'])
  expect(asked).toEqual(['corp/*: review', 'acme/*: review'])
  await workers.end()
})
