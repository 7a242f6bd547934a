/** Goal: whoever did nothing says so in words that cannot be misread. */
import { expect, it } from 'vitest'
import type { RunView } from '../../contract/runs.ts'
import { endedElsewhere } from './ending.ts'

const done = {
  ...{ id: 'run_1', key: 'k', type: 'build', subject: 'k', repo: null, error: null },
  ...{ state: 'succeeded', verdict: null, finished_at: '2026-01-31T12:00:00.000Z' },
} as RunView
const finishedMs = Date.UTC(2026, 0, 31, 12)

it.each([
  [0, 'a moment ago'],
  [5000, '5 s ago'],
])('work that ended %i ms before was done %s', (ms, when) => {
  const { words } = endedElsewhere(done, 'duplicate', finishedMs + ms)
  expect(words).toBe(`Nothing to do: run_1 did build of k ${when}.`)
})
