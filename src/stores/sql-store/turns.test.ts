import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { systemScheduler } from '../../scheduler.ts'
import { Turns } from './turns.ts'

/** Work that the turns begin and the test ends. */
function turnsByHand(mostAtOnce: number) {
  const timers: (() => void)[] = []
  const scheduler = {
    ...systemScheduler,
    after: (_ms: number, task: () => void) => {
      timers.push(task)
      return () => void timers.splice(timers.indexOf(task), 1)
    },
  }
  const turns = new Turns({ scheduler, mostAtOnce, patienceMs: 30_000 })
  const begun: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const take = (key: string, name: string): Promise<string> =>
    turns.take(key, () => {
      begun.push(name)
      return new Promise((resolve, reject) => {
        ends.set(name, (error) => (error === undefined ? resolve(name) : reject(error)))
      })
    })
  const end = async (name: string, error?: Error): Promise<void> => {
    ends.get(name)?.(error)
    await nextTurn()
  }
  return { take, end, begun, timers }
}

it('one task of each key runs at a time, in order, and tasks of other keys pass', async () => {
  const { take, end, begun } = turnsByHand(5)
  const all = [take('a', 'a1'), take('a', 'a2'), take('a', 'a3'), take('b', 'b1')]
  await nextTurn()
  expect(begun).toEqual(['a1', 'b1'])
  await end('a1')
  expect(begun).toEqual(['a1', 'b1', 'a2'])
  const failed = expect(all[1]).rejects.toThrow('no')
  await end('a2', new Error('no'))
  await failed
  expect(begun).toEqual(['a1', 'b1', 'a2', 'a3'])
  await end('a3')
  await end('b1')
  expect(await Promise.all([all[0], all[2], all[3]])).toEqual(['a1', 'a3', 'b1'])
})

it('only a limited number of tasks runs at once, over all keys', async () => {
  const { take, end, begun } = turnsByHand(2)
  const all = ['a', 'b', 'c', 'd'].map((key) => take(key, key))
  await nextTurn()
  expect(begun).toEqual(['a', 'b'])
  await end('b')
  expect(begun).toEqual(['a', 'b', 'c'])
  for (const name of ['a', 'c', 'd']) await end(name)
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd'])
})

it('a task that waits too long is refused, and its turn goes to the next', async () => {
  const { take, end, begun, timers } = turnsByHand(5)
  const all = [take('a', 'a1'), take('a', 'a2'), take('a', 'a3')]
  await nextTurn()
  const refused = expect(all[1]).rejects.toMatchObject({ code: 'store_contended' })
  timers[0]?.()
  await refused
  await end('a1')
  expect(begun).toEqual(['a1', 'a3'])
  await end('a3')
  expect(await all[2]).toBe('a3')
})
