/** What the webhook endpoint passes to intake, what it stores of a webhook, and how it answers. */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sign } from '@octokit/webhooks-methods'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { InvalidInputError, StoreUnavailableError } from '../../src/errors.ts'
import { theEntry, theEntryId, theRunId, theWebhookId, webhookSecret } from './fakes.ts'
import { ask, problemOf, serverUnderTest } from './server-under-test.ts'

let { server, fakes, logged } = serverUnderTest()
beforeEach(async () => {
  await server.close()
  ;({ server, fakes, logged } = serverUnderTest())
})
afterAll(() => server.close())

async function send(body: string, over: Readonly<Record<string, string>> = {}) {
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'GitHub-Hookshot/1',
    'x-github-delivery': theWebhookId,
    'x-github-event': 'pull_request',
    'x-github-hook-id': '12',
    'x-hub-signature': 'sha1=0',
    'x-hub-signature-256': await sign(webhookSecret, body || ' '),
    ...over,
  }
  return await server.inject({ method: 'POST', url: '/webhooks/github', headers, payload: body })
}

test.each([
  ['GET', '/webhooks/github', 405],
  ['POST', '/webhooks/github/', 404],
  ['POST', '/webhooks/gitlab', 404],
] as const)(
  '%s %s is reported as a wrong address, not as a missing token',
  async (method, url, status) => {
    expect((await server.inject({ method, url })).statusCode).toBe(status)
  },
)

describe('a delivery', () => {
  test('is passed on as its raw bytes, with the headers about it', async () => {
    const body = ' {"a":\t"\\u00e4 ä"}\r\n'
    const answer = await send(body, { cookie: 'secret-cookie' })
    expect([answer.statusCode, answer.json()]).toEqual([
      202,
      { inbox_id: theEntryId, decision: 'accepted', reason: null, run_ids: [] },
    ])
    const [change] = fakes.changes
    expect(change).toMatchObject({
      verb: 'receive',
      request: { webhookId: theWebhookId, event: 'pull_request' },
    })
    const { body: bytes, headers } = change?.request as {
      body: Buffer
      headers: Record<string, string>
    }
    expect(bytes.toString()).toBe(body)
    expect(headers).toEqual({
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/1',
      'x-github-delivery': theWebhookId,
      'x-github-event': 'pull_request',
      'x-github-hook-id': '12',
    })
  })

  test('that nothing listens to is 200', async () => {
    const answer = await send('{}', { 'x-github-event': 'star' })
    expect([answer.statusCode, answer.json()]).toMatchObject([200, { reason: 'no-trigger' }])
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-8'])(
    'is accepted by its signature, not by its type %s',
    async (type) => {
      expect((await send('{}', { 'content-type': type })).statusCode).toBe(202)
    },
  )

  test('is in the log only with its GUID', async () => {
    await send('{"text":"of-the-body"}')
    expect(logged.join()).toContain(theWebhookId)
    expect(logged.join()).not.toMatch(/of-the-body|sha256=/)
  })

  test('is a 503 if the store is down, so that it can be sent again', async () => {
    fakes.failure = new StoreUnavailableError('store_unreachable', 'away')
    const answer = await send('{}')
    expect(problemOf(answer)).toMatchObject({ status: 503, code: 'store_unreachable' })
    expect(answer.headers['retry-after']).toBe('1')
  })

  test('that intake refuses is a 400 with the remedy', async () => {
    fakes.failure = new InvalidInputError('not_json', 'body', 'no', { hint: 'Mend it.' })
    expect(problemOf(await send('{}'))).toMatchObject({
      status: 400,
      code: 'not_json',
      hint: 'Mend it.',
    })
  })
})

describe('a refused delivery', () => {
  test('without the right signature is a 401, whatever else is wrong with it', async () => {
    const wrong = [
      await send('{}', { 'x-hub-signature-256': await sign('guess', '{}') }),
      await send('{', { 'x-hub-signature-256': 'sha256=0' }),
      await send(''),
    ]
    for (const answer of wrong) {
      expect(problemOf(answer)).toMatchObject({ status: 401, code: 'bad_signature' })
    }
    expect(fakes.changes).toEqual([])
  })

  test.each([
    ['x-github-delivery', ''],
    ['x-github-delivery', 'a b'],
    ['x-github-delivery', 'x'.repeat(201)],
    ['x-github-event', ''],
    ['x-github-event', 'Pull Request'],
    ['x-github-event', 'x'.repeat(65)],
  ])('whose %s is %j names that header', async (name, value) => {
    expect(problemOf(await send('{}', { [name]: value }))).toMatchObject({
      status: 400,
      errors: [{ field: name }],
    })
    expect(fakes.changes).toEqual([])
  })
})

describe('the inbox', () => {
  test('shows an entry with its headers and payload, by id or GUID', async () => {
    const shown = {
      id: theEntryId,
      webhook_id: theWebhookId,
      event: 'pull_request',
      action: 'opened',
      repo: 'acme/widgets',
      number: 5,
      sender: 'mona',
      state: 'processed',
      decision: 'accepted',
      reason: null,
      run_ids: [theRunId],
      outcomes: [
        { type: 'review', result: 'claimed', reason: 'new', detail: null, run_ids: [theRunId] },
      ],
      duplicate_of: null,
      event_at: '2026-01-31T11:59:59.000Z',
      received_at: '2026-01-31T12:00:00.000Z',
      processed_at: '2026-01-31T12:00:00.001Z',
      next_try_at: null,
      tries: 0,
      last_error: null,
    }
    for (const id of [theEntryId, theWebhookId]) {
      expect((await ask(server, { url: `/v1/inbox/${id}` })).json()).toEqual({
        ...shown,
        headers: { 'x-github-event': 'pull_request' },
        payload: { action: 'opened' },
      })
    }
    const query = 'state=processed&decision=accepted&event=projects_v2_item&repo=Acme/W&number=5'
    const list = await ask(server, { url: `/v1/inbox?${query}&webhook_id=${theWebhookId}` })
    expect(list.json()).toEqual({ items: [shown], next_cursor: 'next' })
  })

  test('answers 404 for an unknown entry', async () => {
    for (const request of [
      { url: '/v1/inbox/inb_none' },
      { method: 'POST', url: '/v1/inbox/inb_none/replay' },
    ] as const) {
      expect(problemOf(await ask(server, request))).toMatchObject({
        status: 404,
        code: 'inbox_entry_not_found',
      })
    }
  })

  test('replays a webhook in the operator’s name, under an idempotency key', async () => {
    const url = `/v1/inbox/${theEntryId}/replay`
    const headers = { 'idempotency-key': 'k' }
    const answer = await ask(server, { method: 'POST', url, headers })
    expect([answer.statusCode, answer.json()]).toMatchObject([
      202,
      { id: theEntry.id, state: 'waiting', next_try_at: '2026-01-31T12:00:00.000Z' },
    ])
    expect(fakes.changes).toMatchObject([
      { verb: 'replay', actor: 'admin', request: { entryId: theEntryId }, once: {} },
    ])
  })
})

describe('before a body is read', () => {
  test.each([
    [{ 'x-hub-signature-256': 'sha256=0' }, 401],
    [{ 'x-hub-signature-256': `sha1=${'0'.repeat(64)}` }, 401],
    [{ 'x-github-delivery': 'a b' }, 400],
    [{ 'x-github-event': 'Pull Request' }, 400],
  ])('headers like %j are refused', async (over, status) => {
    await server.listen({ port: 0, host: '127.0.0.1' })
    const { port } = server.server.address() as AddressInfo
    const headers = {
      'x-hub-signature-256': `sha256=${'0'.repeat(64)}`,
      'x-github-delivery': theWebhookId,
      'x-github-event': 'push',
      'content-length': 1000,
      ...over,
    }
    const options = { port, host: '127.0.0.1', method: 'POST', path: '/webhooks/github', headers }
    // The body is never sent, so only the headers can have been checked.
    const sent = request(options).on('error', () => undefined)
    sent.flushHeaders()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    expect(answer.statusCode).toBe(status)
    sent.destroy()
  })
})
