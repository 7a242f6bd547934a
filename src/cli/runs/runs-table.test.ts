/** Goal: the state of a run is one sentence, whatever text its worker left. */
import { expect, test } from 'vitest'
import type { RunView } from '../../contract.ts'
import { runHeading } from './runs-table.ts'

const failed = { id: 'run_1', type: 'build', subject: 'k', repo: null, state: 'failed' } as RunView
const stateOf = (text: string): string => {
  const run = { ...failed, error: { code: 'broken', text } } as RunView
  return runHeading(run, 0, null).state
}

test('an error text with its own full stop gets no second one', () => {
  expect(stateOf('The database is away.')).toMatch(/[^.]\.$/)
  expect(stateOf('The database is away.')).toContain('The database is away.')
  expect(stateOf('the database is away')).toMatch(/the database is away\.$/)
})
