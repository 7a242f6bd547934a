/** Goal: rows of the list can be told apart, and the cause of a wait comes first. */
import { expect, test } from 'vitest'
import type { DeliveryView } from '../../contract.ts'
import { deliveriesTable, deliveryFields, deliveryHeading } from './deliveries-table.ts'

const waiting = {
  channel: 'github-comment',
  name: 'anchor',
  type: 'review',
  status: 'PENDING',
  wait: 'budget',
  tries: 0,
  reason: null,
  error: { code: 'not_found', text: 'GitHub answered 404' },
} as DeliveryView

const cell = (title: string, item: DeliveryView): string | undefined =>
  deliveriesTable.screen.find((column) => column.title === title)?.of(item, 0)

test('the comments of two run types are told apart', () => {
  expect(cell('WHAT', waiting)).toBe('comment of review')
  expect(cell('WHAT', { ...waiting, type: 'lint' })).toBe('comment of lint')
})

test('an output that the run named keeps its name', () => {
  expect(cell('WHAT', { ...waiting, name: 'findings' })).toBe('comment findings of review')
})

test('a status is told apart by its target, and an output without a run has no type', () => {
  expect(cell('WHAT', { ...waiting, channel: 'github-status', name: 'status' })).toBe('status')
  expect(cell('WHAT', { ...waiting, type: null })).toBe('comment anchor')
})

test('after a failed try, a wait for the budget says the failure first', () => {
  expect(cell('WHY', { ...waiting, tries: 4 })).toBe(
    'the last try failed (GitHub answered 404); it is tried again when the budget allows it',
  )
  expect(cell('WHY', waiting)).toBe('it waits for its turn, because writes to GitHub are spaced')
})

test('the state is one sentence, also if the error has its own full stop', () => {
  const failed = { ...waiting, id: 'dlv_1', status: 'FAILED', wait: null } as DeliveryView
  const error = { code: 'refused', text: 'Body is too long.' }
  expect(deliveryHeading({ ...failed, error }).state).toMatch(/Body is too long\.$/)
})

test('tries are said to be failed ones, and none are shown if the first one succeeded', () => {
  const times = { due_at: null, created_at: null, updated_at: null, sent_at: null }
  const more = { ...times, closed_at: null, deadline_at: null, attempts: [] }
  const sent = { ...waiting, ...more, status: 'SENT', wait: null } as unknown
  const triesOf = (tries: number) => {
    const item = { ...(sent as DeliveryView), tries, version: { fence: 1, seq: 1 } }
    const fields = deliveryFields(item as Parameters<typeof deliveryFields>[0], 0)
    return fields.find(({ name }) => name === 'tries')
  }
  expect(triesOf(0)).toMatchObject({ value: 0, onScreen: null })
  expect(triesOf(2)).toMatchObject({ value: 2, onScreen: '2 failed' })
})
