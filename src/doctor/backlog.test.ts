// Goal: doctor counts what waits in plain words, and says what a person can do about it.
import { expect, it } from 'vitest'
import { checkCatchUp, checkUndecided } from './backlog.ts'

it.each([
  [1, "1 run waits for a person's decision."],
  [3, "3 runs wait for a person's decision."],
])('%i waiting runs are a warning with the command that lists them', (waiting, detail) => {
  expect(checkUndecided(waiting)).toMatchObject([
    {
      check: 'runs.waiting',
      level: 'warning',
      detail,
      remedy: 'List them: holdfast runs --state waiting. What to decide: holdfast why ID',
    },
  ])
})

it('no waiting run is fine', () => {
  expect(checkUndecided(0)).toMatchObject([{ level: 'ok', detail: 'No run waits for a person.' }])
})

it('very many heads are counted as more', () => {
  const headChecks = { count: 1000, more: true, oldestAt: 0 }
  const caughtUp = { headChecks, deliveriesUnread: false, deliveriesUnfetched: [] }
  const [finding] = checkCatchUp(caughtUp, 0, 'live')
  expect(finding?.detail).toBe('More than 1000 heads to be checked on GitHub.')
})

it('a head that waits in the sandbox is no warning: nothing there checks it', () => {
  const headChecks = { count: 1, more: false, oldestAt: 0 }
  const caughtUp = { headChecks, deliveriesUnread: false, deliveriesUnfetched: [] }
  const check = (mode: 'live' | 'sandbox') => checkCatchUp(caughtUp, 20 * 60_000, mode)
  expect(check('live')).toMatchObject([{ level: 'warning' }])
  expect(check('sandbox')).toMatchObject([
    { level: 'ok', detail: 'The sandbox checks no heads on GitHub.' },
  ])
})
