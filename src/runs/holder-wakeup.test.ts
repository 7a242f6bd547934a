// Goal: holders on a long-poll are woken when their run is taken, by this process or another.
import { expect, it } from 'vitest'
import type { Scheduler } from '../scheduler.ts'
import type { Hold } from '../store.ts'
import { HolderWakeup } from './holder-wakeup.ts'

/** Timers that only fire when a test says so. */
class ManualTimers implements Scheduler {
  readonly #timers = new Map<() => void, number>()

  soon(task: () => void): void {
    this.after(0, task)
  }

  after(ms: number, task: () => void): () => void {
    this.#timers.set(task, ms)
    return () => void this.#timers.delete(task)
  }

  afterInBackground(ms: number, task: () => void): () => void {
    return this.after(ms, task)
  }

  fire(ms: number): void {
    for (const [task, each] of [...this.#timers]) {
      if (each !== ms) continue
      this.#timers.delete(task)
      task()
    }
  }

  get waiting(): number {
    return this.#timers.size
  }
}

const pollMs = 500
const hold = (runId: string): Hold => ({ runId, fence: 1 })

function watchOver(lost: (holds: readonly Hold[]) => Promise<readonly string[]>) {
  const timers = new ManualTimers()
  const asked: string[][] = []
  const lostHolds = (holds: readonly Hold[]): Promise<readonly string[]> => {
    asked.push(holds.map(({ runId }) => runId))
    return lost(holds)
  }
  return { timers, asked, wakeup: new HolderWakeup({ runs: { lostHolds } }, timers) }
}

it('the watch wakes the holder of a run that was taken in this process, and no other', async () => {
  const { wakeup, timers } = watchOver(async () => [])
  const taken = wakeup.wait(hold('a'), 9000, undefined)
  const kept = wakeup.wait(hold('b'), 9000, undefined)
  wakeup.wake(['a'])
  expect(await taken).toBe(true)
  timers.fire(9000)
  expect(await kept).toBe(false)
})

it('the watch asks once for all, and wakes a holder that lost its run elsewhere', async () => {
  const { wakeup, timers, asked } = watchOver(async () => ['b'])
  void wakeup.wait(hold('a'), 9000, undefined)
  const taken = wakeup.wait(hold('b'), 9000, undefined)
  timers.fire(pollMs)
  expect(await taken).toBe(true)
  expect(asked).toEqual([['a', 'b']])
})

it('the watch continues to ask when the store did not answer', async () => {
  let times = 0
  const { wakeup, timers } = watchOver(async () => {
    times += 1
    if (times === 1) throw new Error('away')
    return ['a']
  })
  const taken = wakeup.wait(hold('a'), 9000, undefined)
  timers.fire(pollMs)
  await new Promise((resolve) => setImmediate(resolve))
  timers.fire(pollMs)
  expect(await taken).toBe(true)
})

it('the watch releases a holder that left, and leaves no timer behind', async () => {
  const { wakeup, timers } = watchOver(async () => [])
  const gone = new AbortController()
  const waiting = wakeup.wait(hold('a'), 9000, gone.signal)
  gone.abort()
  expect(await waiting).toBe(false)
  expect(await wakeup.wait(hold('a'), 9000, gone.signal)).toBe(false)
  timers.fire(pollMs)
  await new Promise((resolve) => setImmediate(resolve))
  expect(timers.waiting).toBe(0)
})
