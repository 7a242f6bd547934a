/**
 * Goal: transactions of one lane follow one another, and a slow one does not hold up the next.
 * Method: a scheduler whose timers fire when the test says so.
 */
import { expect, it } from 'vitest'
import { systemScheduler } from '../../scheduler.ts'
import { Lane, laneOrder } from './lane.ts'

function laneWithTimers() {
  const timers = new Set<() => void>()
  const scheduler = {
    ...systemScheduler,
    after: (_ms: number, task: () => void) => {
      timers.add(task)
      return () => void timers.delete(task)
    },
  }
  const fire = (): void => {
    for (const task of [...timers]) {
      timers.delete(task)
      task()
    }
  }
  return { lane: new Lane(scheduler, 50), timers, fire }
}

/** Work that ends when the test says so. */
function gate(log: string[], name: string) {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const work = async (): Promise<void> => {
    log.push(`${name} begins`)
    await promise
    log.push(`${name} ends`)
  }
  return { work, open: () => resolve(undefined) }
}

it('one begins after the other has ended, in the order of arrival', async () => {
  const { lane, timers } = laneWithTimers()
  const log: string[] = []
  const [a, b, c] = [gate(log, 'a'), gate(log, 'b'), gate(log, 'c')]
  const all = [a, b, c].map(({ work }) => lane.run(laneOrder.work, work))
  b.open()
  c.open()
  a.open()
  await Promise.all(all)
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  expect(lane.isFree).toBe(true)
  expect(timers.size).toBe(0)
})

it('one that fails leaves the lane', async () => {
  const { lane } = laneWithTimers()
  await expect(lane.run(laneOrder.work, () => Promise.reject(new Error('no')))).rejects.toThrow(
    'no',
  )
  expect(lane.isFree).toBe(true)
})

it('the next one begins beside one that is slow, which then frees nothing', async () => {
  const { lane, fire } = laneWithTimers()
  const log: string[] = []
  const [slow, next] = [gate(log, 'slow'), gate(log, 'next')]
  const first = lane.run(laneOrder.work, slow.work)
  const second = lane.run(laneOrder.work, next.work)
  await expect.poll(() => log).toEqual(['slow begins'])
  fire()
  await expect.poll(() => log.length).toBe(2)
  expect(log).toEqual(['slow begins', 'next begins'])
  slow.open()
  await first
  expect(lane.isFree).toBe(false)
  next.open()
  await second
  expect(lane.isFree).toBe(true)
})

it('of those that wait, what comes first in the life of a run goes first', async () => {
  const { lane } = laneWithTimers()
  const log: string[] = []
  const [busy, end, work, begin] = ['busy', 'end', 'work', 'begin'].map((name) => gate(log, name))
  const all = [lane.run(laneOrder.end, busy!.work)]
  await expect.poll(() => log).toEqual(['busy begins'])
  all.push(lane.run(laneOrder.end, end!.work))
  all.push(lane.run(laneOrder.work, work!.work))
  all.push(lane.run(laneOrder.begin, begin!.work))
  for (const one of [busy, end, work, begin]) one!.open()
  await Promise.all(all)
  const order = log.filter((line) => line.endsWith('begins'))
  expect(order).toEqual(['busy begins', 'begin begins', 'work begins', 'end begins'])
})

it('one that waits is not passed over for ever', async () => {
  const { lane } = laneWithTimers()
  const ended = new AbortController()
  let passed = 0
  const pass = (): Promise<void> => {
    passed++
    return Promise.resolve()
  }
  const others = (async () => {
    // There is always another one that has come earlier in the life of its run.
    while (!ended.signal.aborted) {
      await Promise.all([lane.run(laneOrder.begin, pass), lane.run(laneOrder.begin, pass)])
    }
  })()
  await lane.run(laneOrder.end, () => {
    ended.abort()
    return Promise.resolve()
  })
  expect(passed).toBeGreaterThan(0)
  expect(passed).toBeLessThan(10)
  await others
})
