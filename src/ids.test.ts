import { expect, test } from 'vitest'
import { GrowingIds, makeIdFloor, stepKey } from './ids.ts'
import { systemRandom } from './random.ts'

const step = { runId: 'run_1', round: 1, name: 'charge' }

test('the key of a step is the same in every attempt, and in every version of Holdfast', () => {
  expect(stepKey({ ...step })).toBe(stepKey(step))
  expect(stepKey(step)).toBe('step_rFntOvWg5ENsI4j6fPg5Af1XApDo6aQx')
})

test('another run, round or name has another key, however they are put together', () => {
  const others = [
    { ...step, runId: 'run_2' },
    { ...step, round: 2 },
    { ...step, name: 'Charge' },
    { runId: 'run_1', round: 11, name: 'charge' },
    { runId: 'run_', round: 1, name: '1charge' },
  ]
  const keys = [step, ...others].map(stepKey)
  expect(new Set(keys).size).toBe(keys.length)
  for (const key of keys) expect(key).toMatch(/^step_[\w-]{32}$/)
})

test('ids of one millisecond sort in the order in which they were made', () => {
  const ids = new GrowingIds(systemRandom)
  const made = Array.from({ length: 2000 }, () => ids.next('run', 7))
  expect(made.toSorted()).toEqual(made)
  expect(new Set(made).size).toBe(made.length)
  for (const id of made) expect(id).toMatch(/^run_0000000007[0-9a-z]{16}$/)
  expect(ids.next('run', 8) > made.at(-1)!).toBe(true)
  expect(made[0]! > makeIdFloor('run', 7)).toBe(true)
})

test('after the last id of a millisecond comes another random one', () => {
  const bytes = [31, 31, 5]
  const ids = new GrowingIds({
    bytes: (count) => Buffer.alloc(count, bytes.shift()),
    below: () => 0,
  })
  const last = 'z'.repeat(16)
  expect(ids.next('del', 0)).toBe(`del_0000000000${last}`)
  expect(ids.next('sub', 0)).toBe(`sub_0000000000${last}`)
  expect(ids.next('del', 0)).toBe(`del_0000000000${'5'.repeat(16)}`)
  expect(ids.next('del', 0)).toBe(`del_0000000000${'5'.repeat(15)}6`)
})
