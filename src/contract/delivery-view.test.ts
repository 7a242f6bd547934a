import { expect, it } from 'vitest'
import { aDelivery, now } from '../../test/outbox/sample-delivery.ts'
import { oneDelivery } from './delivery-view.ts'

const store = {
  now: () => now,
  repositories: { names: async () => new Map<string, string>() },
  runs: { types: async () => new Map<string, string>() },
}

it('a delivery that waits for an earlier message of its run shows no time', async () => {
  const waiting = { dueAt: now + 5000, wait: 'order' } as const
  expect(await oneDelivery(store, aDelivery(waiting))).toMatchObject({
    wait: 'order',
    due_at: null,
  })
  const later = await oneDelivery(store, aDelivery({ ...waiting, wait: 'backoff' }))
  expect(later.due_at).toBe(new Date(now + 5000).toISOString())
})
