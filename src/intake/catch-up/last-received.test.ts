// Goal: the last event of a pull request is its own, whichever repository has the name now. What an
// event only carries along does not count as that event.
import { githubDeclarations } from '../../channels/github-channels.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../clock.ts'
import { systemRandom } from '../../random.ts'
import { systemScheduler } from '../../scheduler.ts'
import type { Store } from '../../store.ts'
import { openSqlite } from '../../stores/open-sqlite.ts'
import { newWebhook } from '../../../test/conformance/inbox/webhooks.ts'
import { lastReceived, wasClosingReceived } from './last-received.ts'
import { packBody } from '../events/payload.ts'
import {
  laneOf,
  makesHead,
  readEvent,
  threadLane,
  type WebhookEvent,
} from '../events/webhook-event.ts'

const machine = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }
let store: Store
beforeEach(
  () =>
    void (store = openSqlite(
      { path: ':memory:', exclusive: false },
      { ...machine, channels: githubDeclarations },
    )),
)
afterEach(() => store.close())

interface PullState {
  readonly state?: 'open' | 'closed'
  readonly draft?: boolean
}

const payloadOf = (
  id: number,
  name: string,
  action: string,
  second: number,
  pullState: PullState = {},
) => ({
  action,
  number: 5,
  repository: { id, full_name: name },
  pull_request: {
    number: 5,
    state: pullState.state ?? (action === 'closed' ? 'closed' : 'open'),
    draft: pullState.draft ?? false,
    updated_at: new Date(Date.UTC(2026, 0, 31, 12, 0, second)).toISOString(),
    head: { sha: 'a'.repeat(40) },
    base: { sha: 'b'.repeat(40) },
  },
})

const seen = (id: number, name: string): WebhookEvent =>
  readEvent('', 'pull_request', payloadOf(id, name, 'synchronize', 9))

async function receive(
  id: number,
  name: string,
  action: string,
  second: number,
  pullState: PullState = {},
): Promise<void> {
  const payload = payloadOf(id, name, action, second, pullState)
  const webhookId = `${id} ${action} ${second}`
  const event = readEvent(webhookId, 'pull_request', payload)
  await store.inbox.receive(
    newWebhook({
      ...{ webhookId, action, repo: name, repoId: id, number: 5 },
      ...{ lane: laneOf(event), eventAt: event.eventAt, prState: event.prState },
      head: event.head && { sha: event.head.headSha, isMade: makesHead(event) },
      body: { headers: '{}', body: packBody(Buffer.from(JSON.stringify(payload))) },
    }),
  )
}

it('an event of another repository that had the same name before does not count', async () => {
  await receive(1, 'acme/w', 'closed', 1)
  expect((await lastReceived(store, seen(2, 'acme/w'))).last).toBeNull()
  await receive(2, 'acme/w', 'opened', 2)
  expect((await lastReceived(store, seen(2, 'acme/w'))).last?.action).toBe('opened')
  expect(await wasClosingReceived(store, threadLane(1, 5))).toBe(true)
  expect(await wasClosingReceived(store, threadLane(2, 5))).toBe(false)
})

it('a rename changes nothing, even before an event reports it', async () => {
  await receive(1, 'acme/w', 'opened', 1)
  await receive(1, 'acme/w', 'closed', 2)
  expect((await lastReceived(store, seen(1, 'corp/x'))).last?.action).toBe('closed')
})

it('the latest event by GitHub’s time counts, not the last that arrived', async () => {
  await receive(1, 'acme/w', 'closed', 2)
  await receive(1, 'acme/w', 'opened', 1)
  expect((await lastReceived(store, seen(1, 'acme/w'))).last?.action).toBe('closed')
})

describe('a label that comes after a lost event does not prove that event', () => {
  const receiveOf = (action: string, second: number, pullState: PullState = {}) =>
    receive(1, 'acme/w', action, second, pullState)
  const last = () => lastReceived(store, seen(1, 'acme/w'))
  const wasClosed = () => wasClosingReceived(store, threadLane(1, 5))

  it('however many labels came', async () => {
    await receiveOf('opened', 1, { draft: true })
    for (let second = 2; second < 30; second += 1) await receiveOf('labeled', second)
    expect(await last()).toMatchObject({ isOpen: true, wasDraft: true, headSha: 'a'.repeat(40) })
    await receiveOf('closed', 30)
    for (let second = 31; second < 60; second += 1) await receiveOf('labeled', second)
    expect(await last()).toMatchObject({ isOpen: false })
  })

  it('if the pull request was closed', async () => {
    await receiveOf('opened', 1)
    await receiveOf('labeled', 3, { state: 'closed' })
    expect(await wasClosed()).toBe(false)
    await receiveOf('closed', 4)
    await receiveOf('labeled', 5, { state: 'closed' })
    expect(await wasClosed()).toBe(true)
  })

  it('if it was closed again, after its reopening was lost', async () => {
    await receiveOf('closed', 1)
    await receiveOf('synchronize', 3)
    await receiveOf('labeled', 5, { state: 'closed' })
    expect(await wasClosed()).toBe(false)
  })

  it('and a label in the same second as the closing does not disprove the closing', async () => {
    await receiveOf('closed', 3)
    await receiveOf('labeled', 3, { state: 'open' })
    expect(await wasClosed()).toBe(true)
  })

  it('if it became ready, and the only event before was a push to the draft', async () => {
    await receiveOf('synchronize', 1, { draft: true })
    await receiveOf('labeled', 3)
    expect(await last()).toMatchObject({ isOpen: null, wasDraft: true })
    await receiveOf('ready_for_review', 4)
    expect(await last()).toMatchObject({ wasDraft: false })
    await receiveOf('converted_to_draft', 5, { draft: true })
    await receiveOf('labeled', 7)
    expect(await last()).toMatchObject({ wasDraft: true })
  })
})
