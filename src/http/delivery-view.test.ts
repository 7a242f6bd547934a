import { expect, it } from 'vitest'
import { aDelivery, now } from '../../test/outbox/sample-delivery.ts'
import { oneDelivery, type DeliveryStore } from './delivery-view.ts'

const store: DeliveryStore = {
  now: () => now,
  repositories: { names: async () => new Map() },
  outbox: { delivery: async () => null, attemptsOf: async () => [] },
}

it('one that waits for an earlier message of its run names no time', async () => {
  const waiting = { dueAt: now + 5000, wait: 'order' } as const
  expect(await oneDelivery(store, aDelivery(waiting))).toMatchObject({
    wait: 'order',
    due_at: null,
  })
  const later = await oneDelivery(store, aDelivery({ ...waiting, wait: 'backoff' }))
  expect(later.due_at).toBe(new Date(now + 5000).toISOString())
})
