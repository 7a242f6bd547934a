/**
 * Goal: how a whole server receives webhooks: a user's rule that changes a payload does not change
 * the event's identity; the answer to a repeat does not depend on how far the first webhook is
 * processed; and an event in both `on` and `rerunOn` starts what never ran and reruns what is
 * finished.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { completion, leaseRequest } from '../conformance/claims.ts'
import { openWebhookServer, type WebhookServer } from './webhook-server.ts'
import { atSecond, newThread } from './payloads.ts'
import type { Webhook } from './webhook.ts'

let server: WebhookServer
afterEach(() => server.close())

it('a rule that changes the payload does not create a second event', async () => {
  let calls = 0
  const when = ({ payload }: { payload: { changes?: unknown; label?: unknown } }): boolean => {
    calls += 1
    payload.changes = { calls }
    payload.label = { name: `label ${calls}` }
    return true
  }
  server = await openWebhookServer({ runs: { odd: { on: { pull_request: ['opened'] }, when } } })
  const thread = newThread()
  const answers = []
  for (let n = 0; n < 3; n++) answers.push(await server.send(thread.on('opened', 'a', 1)))
  expect(answers.map(({ body }) => body.decision)).toEqual(['accepted', 'duplicate', 'duplicate'])
  await server.processed()
  const { items } = await server.store.runs.list({}, { limit: 10, cursor: null })
  expect(items).toHaveLength(1)
})

it('a rule that throws is logged as a warning at once, with its type and error', async () => {
  const when = (): boolean => {
    throw new Error('no such field')
  }
  server = await openWebhookServer({ runs: { odd: { on: { pull_request: ['opened'] }, when } } })
  const { body } = await server.send(newThread().on('opened', 'a', 1))
  await server.processed()
  const lines = server.complaints.map((line) => JSON.parse(line) as object)
  expect(lines).toEqual([
    expect.objectContaining({
      inbox_id: body.inbox_id,
      failed: [{ type: 'odd', reason: 'when-failed', detail: 'no such field' }],
      msg:
        'A webhook failed: a when rule threw an error. After you fixed the cause: ' +
        `holdfast inbox replay ${body.inbox_id}`,
    }),
  ])
})

it('every repeat gets the runs of the first, also while they are being created', async () => {
  server = await openWebhookServer()
  const thread = newThread()
  const webhook = { ...thread.on('opened', 'a', 1), guid: randomUUID() }
  const answers = await Promise.all(Array.from({ length: 30 }, () => server.send(webhook)))
  const repeats = answers.filter(({ body }) => body.decision === 'duplicate')
  expect(repeats).toHaveLength(29)
  const { items } = await server.store.runs.list({}, { limit: 10, cursor: null })
  expect(items).toHaveLength(1)
  for (const { body } of repeats) expect(body.run_ids).toEqual([items[0]?.id])
})

it('a push to a branch with a very long name is kept, and says what is wrong', async () => {
  server = await openWebhookServer({ runs: { docs: { on: { push: [] } } } })
  const push = (length: number): Webhook => {
    const ref = 'refs/heads/'.padEnd(length, 'x')
    const repository = { id: 7, full_name: 'acme/widgets' }
    return { event: 'push', payload: { ref, after: 'a'.repeat(40), repository } }
  }
  const answers = [await server.send(push(600)), await server.send(push(255))]
  expect(answers.map(({ status }) => status)).toEqual([200, 202])
  const [fits, tooLong] = await server.processed()
  expect(fits?.outcomes).toMatchObject([{ reason: 'new' }])
  expect(tooLong?.outcomes).toMatchObject([
    { reason: 'incomplete-payload', detail: 'ref has 600 characters; at most 255 are accepted' },
  ])
})

describe('an event in both `on` and `rerunOn`', () => {
  const pull_request = ['opened', 'labeled', 'synchronize']
  const both = { on: { pull_request }, rerunOn: { pull_request: ['labeled', 'synchronize'] } }
  const decided = async (webhook: Webhook) => {
    await server.send(webhook)
    const [newest] = await server.processed()
    return newest?.outcomes
  }
  const finish = async (): Promise<void> => {
    const leased = await server.store.runs.lease(leaseRequest({ types: ['both'] }), null)
    if (leased === null) throw new Error('no run is pending')
    await server.store.runs.complete(completion(leased, 'succeeded'), null)
  }

  it('starts a run for a head that has none, and reruns a finished one', async () => {
    server = await openWebhookServer({ runs: { both } })
    const { on } = newThread()
    expect(await decided(on('labeled', 'a', 1))).toMatchObject([{ reason: 'new' }])
    await finish()
    const again = on('labeled', 'a', 2, { more: { label: { name: 'other' } } })
    expect(await decided(again)).toMatchObject([{ reason: 'rerun' }])
  })

  it('still gives its head an order: a late push to an older head starts nothing', async () => {
    server = await openWebhookServer({ runs: { both } })
    const { on, repo, repository, number } = newThread()
    expect(await decided(on('synchronize', 'b', 2))).toMatchObject([{ reason: 'new' }])
    const [subject] = await server.store.runs.subjectsOf(repo, number, repository.id)
    expect(subject?.headAt).toBe(Date.parse(atSecond(2)))
    expect(await decided(on('synchronize', 'a', 1))).toMatchObject([{ result: 'ignored' }])
  })
})
