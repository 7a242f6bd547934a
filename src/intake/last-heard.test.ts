// Goal: what was last heard of a pull request is its own, whoever has its repository's name by now.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { systemRandom } from '../random.ts'
import { systemScheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'
import { openSqlite } from '../stores/open-sqlite.ts'
import { newWebhook } from '../../test/conformance/webhooks.ts'
import { lastEvent, lastHeard } from './last-heard.ts'
import { packBody } from './packed-body.ts'
import { laneOf, readEvent, threadLane, type WebhookEvent } from './webhook-event.ts'

const seams = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }
let store: Store
beforeEach(() => void (store = openSqlite({ path: ':memory:', exclusive: false }, seams)))
afterEach(() => store.close())

const payloadOf = (id: number, name: string, action: string, second: number) => ({
  action,
  number: 5,
  repository: { id, full_name: name },
  pull_request: {
    number: 5,
    state: action === 'closed' ? 'closed' : 'open',
    updated_at: `2026-01-31T12:00:0${second}Z`,
    head: { sha: 'a'.repeat(40) },
    base: { sha: 'b'.repeat(40) },
  },
})

const seen = (id: number, name: string): WebhookEvent =>
  readEvent('', 'pull_request', payloadOf(id, name, 'synchronize', 9))

async function hear(id: number, name: string, action: string, second: number): Promise<void> {
  const payload = payloadOf(id, name, action, second)
  const webhookId = `${id} ${action}`
  const event = readEvent(webhookId, 'pull_request', payload)
  await store.receiveWebhook(
    newWebhook({
      ...{ webhookId, action, repo: name, repoId: id, number: 5 },
      ...{ lane: laneOf(event), eventAt: event.eventAt, prState: event.prState },
      body: { headers: '{}', body: packBody(Buffer.from(JSON.stringify(payload))) },
    }),
  )
}

it('the event of whoever had the name before is not its own', async () => {
  await hear(1, 'acme/w', 'closed', 1)
  expect((await lastHeard(store, seen(2, 'acme/w'))).last).toBeNull()
  await hear(2, 'acme/w', 'opened', 2)
  expect((await lastHeard(store, seen(2, 'acme/w'))).last?.action).toBe('opened')
  expect((await lastEvent(store, threadLane(1, 5)))?.prState).toBe('closed')
})

it('a rename changes nothing about it, also before anybody has told of it', async () => {
  await hear(1, 'acme/w', 'opened', 1)
  await hear(1, 'acme/w', 'closed', 2)
  expect((await lastHeard(store, seen(1, 'corp/x'))).last?.action).toBe('closed')
})

it('the latest by GitHub’s time counts, not the last that came', async () => {
  await hear(1, 'acme/w', 'closed', 2)
  await hear(1, 'acme/w', 'opened', 1)
  expect((await lastHeard(store, seen(1, 'acme/w'))).last?.action).toBe('closed')
})
