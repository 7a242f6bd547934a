/**
 * Goal: transactions of one lane follow one another, and a slow one does not hold up the next.
 * Method: a scheduler whose timers fire when the test says so.
 */
import { expect, it } from 'vitest'
import { systemScheduler } from '../../scheduler.ts'
import { Lane } from './lane.ts'

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
  const all = [a, b, c].map(({ work }) => lane.run(work))
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
  await expect(lane.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(lane.isFree).toBe(true)
})

it('the next one begins beside one that is slow, which then frees nothing', async () => {
  const { lane, fire } = laneWithTimers()
  const log: string[] = []
  const [slow, next] = [gate(log, 'slow'), gate(log, 'next')]
  const first = lane.run(slow.work)
  const second = lane.run(next.work)
  fire()
  while (log.length < 2) await Promise.resolve()
  expect(log).toEqual(['slow begins', 'next begins'])
  slow.open()
  await first
  expect(lane.isFree).toBe(false)
  next.open()
  await second
  expect(lane.isFree).toBe(true)
})
