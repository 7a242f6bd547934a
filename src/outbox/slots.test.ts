/** Goal: no party has more of a process in hand than its share, whatever it is that hangs. */
import { expect, it } from 'vitest'
import { aDelivery } from '../../test/outbox/sample-delivery.ts'
import { entryQueue, repairQueue } from '../domain/outbox/queue.ts'
import type { Release } from './slots.ts'
import { Slots } from './slots.ts'

const given = (shares: readonly (Release | null)[]): number =>
  shares.filter((share) => share !== null).length

it('one of each account asks as whom we act, and two in all', () => {
  const slots = new Slots()
  const a = [1, 2].map(() => slots.shareOf(entryQueue('a')))
  expect(given(a)).toBe(1)
  expect(slots.room()).toMatchObject({ entriesMax: 1, full: [entryQueue('a')] })
  expect(given(['b', 'c'].map((account) => slots.shareOf(entryQueue(account))))).toBe(1)
  a[0]?.()
  expect(given([slots.shareOf(entryQueue('c'))])).toBe(1)
})

it('two reads that repair of each account, whoever asks as whom we act', () => {
  const slots = new Slots()
  for (const account of ['x', 'y']) slots.shareOf(entryQueue(account))
  for (const account of ['a', 'b']) {
    expect(given([1, 2, 3].map(() => slots.shareOf(repairQueue(account))))).toBe(2)
  }
  expect(slots.room()?.full).toContain(repairQueue('a'))
})

it('half of the slots for one identity, and one more for what was just looked for', () => {
  const slots = new Slots()
  const on = (channel: 'github-status' | 'github-check') => aDelivery({ channel })
  const doubt = { action: 'create', since: 0, looks: 2 } as const
  const sought = aDelivery({ channel: 'github-status', protocol: { sought: doubt } })
  const statuses = [1, 2, 3].map(() => slots.share('id', on('github-status')))
  expect(given(statuses)).toBe(2)
  expect(given([1, 2].map(() => slots.share('id', on('github-check'))))).toBe(1)
  expect(given([1, 2].map(() => slots.share('id', sought)))).toBe(1)
  expect(given([slots.share('another', on('github-status'))])).toBe(1)
})

it('nothing from a queue that is passed over, until there is a hand for what comes from it', () => {
  const slots = new Slots()
  const entries = ['a', 'b'].map((account) => slots.shareOf(entryQueue(account)))
  slots.passOver('id github-status', entryQueue('c'))
  slots.passOver('id github-check', 'other github-check')
  expect(slots.room()?.full).toContain('id github-status')
  expect(slots.room()?.full).not.toContain('id github-check')
  entries[1]?.()
  expect(slots.room()?.full).not.toContain('id github-status')
})
