/** Goal: no party has more of a process in hand than its share, whatever it is that hangs. */
import { expect, it } from 'vitest'
import { aDelivery } from '../../test/outbox/sample-delivery.ts'
import { entryQueue, repairQueue } from '../domain/outbox/queue.ts'
import type { Release } from './hands.ts'
import { Hands } from './hands.ts'

const given = (shares: readonly (Release | null)[]): number =>
  shares.filter((share) => share !== null).length

it('one of each account asks as whom we act, and two in all', () => {
  const hands = new Hands()
  const a = [1, 2].map(() => hands.shareOf(entryQueue('a')))
  expect(given(a)).toBe(1)
  expect(hands.room()).toMatchObject({ entriesMax: 1, full: [entryQueue('a')] })
  expect(given(['b', 'c'].map((account) => hands.shareOf(entryQueue(account))))).toBe(1)
  a[0]?.()
  expect(given([hands.shareOf(entryQueue('c'))])).toBe(1)
})

it('two reads that repair of each account, whoever asks as whom we act', () => {
  const hands = new Hands()
  for (const account of ['x', 'y']) hands.shareOf(entryQueue(account))
  for (const account of ['a', 'b']) {
    expect(given([1, 2, 3].map(() => hands.shareOf(repairQueue(account))))).toBe(2)
  }
  expect(hands.room()?.full).toContain(repairQueue('a'))
})

it('half of the hands for one identity, and one more for what was just looked for', () => {
  const hands = new Hands()
  const on = (channel: 'github-status' | 'github-check') => aDelivery({ channel })
  const doubt = { action: 'create', since: 0, looks: 2 } as const
  const sought = aDelivery({ channel: 'github-status', memo: { sought: doubt } })
  const statuses = [1, 2, 3].map(() => hands.share('id', on('github-status')))
  expect(given(statuses)).toBe(2)
  expect(given([1, 2].map(() => hands.share('id', on('github-check'))))).toBe(1)
  expect(given([1, 2].map(() => hands.share('id', sought)))).toBe(1)
  expect(given([hands.share('another', on('github-status'))])).toBe(1)
})

it('nothing from a queue that is passed over, until there is a hand for what comes from it', () => {
  const hands = new Hands()
  const entries = ['a', 'b'].map((account) => hands.shareOf(entryQueue(account)))
  hands.passOver('id github-status', entryQueue('c'))
  hands.passOver('id github-check', 'other github-check')
  expect(hands.room()?.full).toContain('id github-status')
  expect(hands.room()?.full).not.toContain('id github-check')
  entries[1]?.()
  expect(hands.room()?.full).not.toContain('id github-status')
})
