// Goal: holders on a long-poll are woken when their run is taken, from here or from elsewhere.
import { expect, it } from 'vitest'
import type { Scheduler } from '../scheduler.ts'
import type { Hold } from '../store.ts'
import { HoldWatch } from './hold-watch.ts'

/** Timers that only fire when a test says so. */
class HandTimers implements Scheduler {
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
  const timers = new HandTimers()
  const asked: string[][] = []
  const lostHolds = (holds: readonly Hold[]): Promise<readonly string[]> => {
    asked.push(holds.map(({ runId }) => runId))
    return lost(holds)
  }
  return { timers, asked, watch: new HoldWatch({ runs: { lostHolds } }, timers) }
}

it('wakes the holder of a run that was taken in this process, and no other', async () => {
  const { watch, timers } = watchOver(async () => [])
  const taken = watch.wait(hold('a'), 9000, undefined)
  const kept = watch.wait(hold('b'), 9000, undefined)
  watch.tell(['a'])
  expect(await taken).toBe(true)
  timers.fire(9000)
  expect(await kept).toBe(false)
})

it('asks once for all who wait, and wakes who lost a run elsewhere', async () => {
  const { watch, timers, asked } = watchOver(async () => ['b'])
  void watch.wait(hold('a'), 9000, undefined)
  const taken = watch.wait(hold('b'), 9000, undefined)
  timers.fire(pollMs)
  expect(await taken).toBe(true)
  expect(asked).toEqual([['a', 'b']])
})

it('goes on asking when the store did not answer', async () => {
  let times = 0
  const { watch, timers } = watchOver(async () => {
    times += 1
    if (times === 1) throw new Error('away')
    return ['a']
  })
  const taken = watch.wait(hold('a'), 9000, undefined)
  timers.fire(pollMs)
  await new Promise((resolve) => setImmediate(resolve))
  timers.fire(pollMs)
  expect(await taken).toBe(true)
})

it('lets go of a holder that left, and leaves no timer behind for it', async () => {
  const { watch, timers } = watchOver(async () => [])
  const gone = new AbortController()
  const waiting = watch.wait(hold('a'), 9000, gone.signal)
  gone.abort()
  expect(await waiting).toBe(false)
  expect(await watch.wait(hold('a'), 9000, gone.signal)).toBe(false)
  timers.fire(pollMs)
  await new Promise((resolve) => setImmediate(resolve))
  expect(timers.waiting).toBe(0)
})
