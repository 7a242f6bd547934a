// Goal: a webhook that failed shows what to do about it and does not look accepted.
import { expect, test } from 'vitest'
import { inboxFields, inboxState } from './inbox-table.ts'
import type { InboxEntryWithBodyView } from '../../contract.ts'

const entry = {
  id: 'inb_1',
  event: 'issue_comment',
  action: 'created',
  run_ids: [],
  outcomes: [],
  event_at: null,
  received_at: null,
  processed_at: null,
  next_try_at: null,
} as unknown as InboxEntryWithBodyView

const remedyOf = (state: 'failed' | 'processed', reason: string | null) =>
  inboxFields({ ...entry, state, reason }, 0).find(({ name }) => name === 'remedy')?.value

test('a webhook that failed has its remedy and the command that replays it', () => {
  expect(remedyOf('failed', 'repo-not-visible')).toBe(
    'Give the token access to the repository, or install the GitHub App on it; then ' +
      'holdfast inbox replay inb_1',
  )
})

test('a webhook that did not fail has no remedy', () => {
  expect(remedyOf('processed', 'draft')).toBeUndefined()
  expect(remedyOf('processed', null)).toBeUndefined()
})

test.each([
  ['failed', 'accepted (on arrival)'],
  ['waiting', 'accepted (on arrival)'],
  ['processed', 'accepted'],
] as const)('the decision about a webhook that is %s is shown as: %s', (state, shown) => {
  const fields = inboxFields({ ...entry, state, decision: 'accepted', reason: null }, 0)
  const decision = { name: 'decision', value: 'accepted', onScreen: shown }
  expect(fields).toContainEqual(decision)
})

test('the state is one sentence, also if the last error has a full stop', () => {
  const waiting = { ...entry, state: 'waiting', last_error: 'GitHub is away.' } as const
  expect(inboxState(waiting)).toBe('Waits to be processed: GitHub is away.')
})
