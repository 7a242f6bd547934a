import { expect, test } from 'vitest'
import { stepKey } from './ids.ts'

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
