import { expect, test } from 'vitest'
import type { Scheduler } from '../../scheduler.ts'
import { systemScheduler } from '../../scheduler.ts'
import { TokenWatch } from './token-watch.ts'

/** A store that says these tokens have ended, and a timer that the test fires. */
function watching(ended: Set<string>) {
  const asked: (readonly string[])[] = []
  const due: (() => void)[] = []
  const scheduler: Scheduler = {
    soon: (task) => systemScheduler.soon(task),
    after: (ms, task) => systemScheduler.after(ms, task),
    afterInBackground: (_ms, task) => {
      due.push(task)
      return () => undefined
    },
  }
  const store = {
    tokens: {
      ended: async (ids: readonly string[]) => {
        asked.push(ids)
        return ids.filter((id) => ended.has(id))
      },
    },
  }
  return { watch: new TokenWatch(store, scheduler), asked, due }
}

test('one question for all held tokens finds a token that ended in another process', async () => {
  const ended = new Set<string>()
  const { watch, asked, due } = watching(ended)
  const [one, same, other] = [watch.watch('a'), watch.watch('a'), watch.watch('b')]
  ended.add('a')
  due.shift()?.()
  await expect.poll(() => one.ended.aborted, { interval: 1 }).toBe(true)
  expect([same.ended.aborted, other.ended.aborted]).toEqual([true, false])
  expect(asked).toEqual([['a', 'b']])
})

test('no question is asked while no token is held', async () => {
  const { watch, asked, due } = watching(new Set())
  expect(due).toHaveLength(0)
  const { release } = watch.watch('a')
  expect(due).toHaveLength(1)
  release()
  due.shift()?.()
  await expect.poll(() => asked.length, { interval: 1 }).toBe(1)
  expect(asked).toEqual([[]])
  expect(due).toHaveLength(0)
})

test('a token that ends in this process ends at once, and no other does', () => {
  const { watch } = watching(new Set())
  const [one, other] = [watch.watch('a'), watch.watch('b')]
  watch.endRequestsOf(['a', 'never held'])
  expect([one.ended.aborted, other.ended.aborted]).toEqual([true, false])
})
