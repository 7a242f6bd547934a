// Goal: a question is asked once while its answer is fresh, and a late answer does not replace a
// newer one.
import { expect, it } from 'vitest'
import { ManualClock } from '../../test/github/github-under-test.ts'
import { TimedCache } from './timed-cache.ts'

function setUp() {
  const clock = new ManualClock()
  const asked: string[] = []
  const remembered = new TimedCache<number>(clock)
  const get = (key: string, value: number, forMs = 1000) =>
    remembered.get(key, async () => {
      asked.push(key)
      return { value, keepMs: forMs }
    })
  return { clock, asked, remembered, get }
}

it('an answer is kept for its time, by the monotonic clock', async () => {
  const { clock, asked, get } = setUp()
  expect(await get('a', 1)).toBe(1)
  clock.wall += 1_000_000
  clock.monotonic += 999
  expect(await get('a', 2)).toBe(1)
  clock.monotonic += 1
  expect(await get('a', 3)).toBe(3)
  expect(asked).toEqual(['a', 'a'])
})

it('an answer that may not be kept is requested again', async () => {
  const { asked, get } = setUp()
  await get('a', 1, 0)
  await get('a', 2, -5)
  expect(asked).toEqual(['a', 'a'])
})

it('only the given value is forgotten', async () => {
  const { remembered, get } = setUp()
  await get('a', 1)
  remembered.forget('a', 7)
  expect(remembered.peek('a')).toBe(1)
  remembered.forget('a', 1)
  expect(remembered.peek('a')).toBeUndefined()
})

it('the oldest of more than ten thousand answers is dropped', async () => {
  const { remembered, get } = setUp()
  for (let i = 0; i <= 10_000; i++) await get(`key ${i}`, i)
  expect(remembered.peek('key 0')).toBeUndefined()
  expect(remembered.peek('key 1')).toBe(1)
  expect(remembered.peek('key 10000')).toBe(10_000)
})
