/** Goal: no party uses more of a process than its share, whichever request hangs. */
import { expect, it } from 'vitest'
import { aDelivery } from '../../test/outbox/sample-delivery.ts'
import { entryQueue, repairQueue } from '../domain/outbox/queue.ts'
import type { Release } from './slots.ts'
import { Slots } from './slots.ts'

const given = (shares: readonly (Release | null)[]): number =>
  shares.filter((share) => share !== null).length

it('each account has one slot to ask for our identity, and all accounts together have two', () => {
  const slots = new Slots()
  const a = [1, 2].map(() => slots.takeForAccount(entryQueue('a')))
  expect(given(a)).toBe(1)
  expect(slots.room()).toMatchObject({ entriesMax: 1, full: [entryQueue('a')] })
  expect(given(['b', 'c'].map((account) => slots.takeForAccount(entryQueue(account))))).toBe(1)
  a[0]?.()
  expect(given([slots.takeForAccount(entryQueue('c'))])).toBe(1)
})

it('each account has two slots for repair reads, whoever else asks for our identity', () => {
  const slots = new Slots()
  for (const account of ['x', 'y']) slots.takeForAccount(entryQueue(account))
  for (const account of ['a', 'b']) {
    expect(given([1, 2, 3].map(() => slots.takeForAccount(repairQueue(account))))).toBe(2)
  }
  expect(slots.room()?.full).toContain(repairQueue('a'))
})

it('one identity has half of the slots, and one more right after a look', () => {
  const slots = new Slots()
  const on = (channel: 'github-status' | 'github-check') => aDelivery({ channel })
  const doubt = { action: 'create', since: 0, looks: 2 } as const
  const inDoubt = aDelivery({ channel: 'github-status', protocol: { sought: doubt } })
  const statuses = [1, 2, 3].map(() => slots.takeForIdentity('id', on('github-status')))
  expect(given(statuses)).toBe(2)
  expect(given([1, 2].map(() => slots.takeForIdentity('id', on('github-check'))))).toBe(1)
  expect(given([1, 2].map(() => slots.takeForIdentity('id', inDoubt)))).toBe(1)
  expect(given([slots.takeForIdentity('another', on('github-status'))])).toBe(1)
})

it('a queue that was passed over stays full until the queue that it needs has a free slot', () => {
  const slots = new Slots()
  const entries = ['a', 'b'].map((account) => slots.takeForAccount(entryQueue(account)))
  slots.passOver('id github-status', entryQueue('c'))
  slots.passOver('id github-check', 'other github-check')
  expect(slots.room()?.full).toContain('id github-status')
  expect(slots.room()?.full).not.toContain('id github-check')
  entries[1]?.()
  expect(slots.room()?.full).not.toContain('id github-status')
})
