/**
 * Goal: what a run reports and publishes, and what operators do with deliveries, reaches the store
 * unchanged and is returned in the form of the contract.
 */
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { ConflictError } from '../../src/errors.ts'
import { hashSecret, leaseToken } from '../../src/secrets.ts'
import { theDeliveryId } from './fake-outbox.ts'
import { leaseSecret, theRunId } from './fakes.ts'
import {
  ask,
  bearer,
  problemOf,
  serverUnderTest,
  theRunToken,
  tokenOf,
} from './server-under-test.ts'

let { server, fakes } = serverUnderTest()
beforeEach(async () => {
  await server.close()
  ;({ server, fakes } = serverUnderTest())
})
afterAll(() => server.close())

type Method = 'GET' | 'POST' | 'PUT'
const send = (method: Method, url: string, payload?: object, token?: string) =>
  ask(server, {
    method,
    url,
    ...(payload === undefined ? {} : { payload }),
    ...(token === undefined ? {} : { headers: bearer(token) }),
  })
const get = async (url: string) => (await send('GET', url)).json<Record<string, unknown>>()

const deliveryOnTheWire = {
  id: theDeliveryId,
  channel: 'github-status',
  kind: 'state',
  name: 'status',
  target: 'acme/widgets@bbbbbbb holdfast/review',
  run_id: theRunId,
  type: 'review',
  task_id: null,
  round: 1,
  version: { fence: 7, seq: 2 },
  status: 'PENDING',
  wait: 'backoff',
  reason: null,
  due_at: '2026-01-31T12:00:01.000Z',
  tries: 1,
  error: { code: 'network', text: 'the connection never opened' },
  in_doubt: false,
  settling: false,
  provider_message_id: '41',
  url: 'https://github.test/acme/widgets/commit/b',
  created_at: '2026-01-31T11:59:54.000Z',
  updated_at: '2026-01-31T11:59:58.000Z',
  sent_at: '2026-01-31T11:59:55.000Z',
  closed_at: null,
  deadline_at: '2026-02-01T12:00:00.000Z',
}

describe('a status', () => {
  const report = (body: object, token?: string) =>
    send('POST', `/v1/runs/${theRunId}/status`, body, token)

  test('is trimmed, on one line, and returned as it is shown', async () => {
    const answer = await report({ status: '  Reading\r\nthe diff\t', lease_token: 'hfl_x' })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({ status: 'ok', reported_status: 'Reading the diff' })
    expect(fakes.changes).toMatchObject([
      { verb: 'reportStatus', request: { runId: theRunId, text: 'Reading the diff' } },
    ])
  })

  test.each(['', ' \n ', 'x'.repeat(101), 'a\u0000b', 'a\u001bb'])(
    '%j is refused',
    async (status) => {
      expect(problemOf(await report({ status }))).toMatchObject({
        status: 422,
        errors: [{ field: 'status' }],
      })
      expect(fakes.changes).toEqual([])
    },
  )

  test('is counted in characters as people see them', async () => {
    const status = '🦀'.repeat(100)
    expect((await report({ status })).json()).toMatchObject({ reported_status: status })
    expect((await report({ status: `${status}!` })).statusCode).toBe(422)
  })

  test('needs a lease token of a worker, a run token, or an operator', async () => {
    const refused = await report({ status: 'x' }, tokenOf('worker'))
    expect(problemOf(refused)).toMatchObject({ status: 422, errors: [{ field: 'lease_token' }] })
    const own = { status: 'x', lease_token: leaseToken(leaseSecret) }
    for (const [body, token] of [
      [own, tokenOf('worker')],
      [{ status: 'x' }, theRunToken],
      [{ status: 'x' }, tokenOf('operator')],
      [{ status: 'x' }, tokenOf('admin')],
    ] as const) {
      expect((await report(body, token)).statusCode).toBe(200)
    }
    const held = hashSecret(leaseSecret)
    expect(fakes.changes).toMatchObject([
      { actor: 'token:tok_worker', request: { leaseHash: held } },
      { actor: `run:${theRunId}`, request: { leaseHash: held } },
      { actor: 'token:tok_operator', request: { leaseHash: null } },
      { actor: 'token:tok_admin', request: { leaseHash: null } },
    ])
  })

  test('has an idempotency key that belongs to the run, whoever sends it', async () => {
    const body = { status: 'x', idempotency_key: 'k1' }
    await report(body, theRunToken)
    await report(body, tokenOf('operator'))
    await report({ ...body, status: 'y' }, theRunToken)
    await report({ ...body, idempotency_key: 'k2' }, theRunToken)
    const [first, second, other, third] = fakes.changes.map(({ once }) => once)
    expect(second?.keyHash).toBe(first?.keyHash)
    expect(second?.bodyHash).toBe(first?.bodyHash)
    expect(other?.keyHash).toBe(first?.keyHash)
    expect(other?.bodyHash).not.toBe(first?.bodyHash)
    expect(third?.keyHash).not.toBe(first?.keyHash)
    expect(second?.open(first?.seal('kept') ?? '')).toBe('kept')
  })
})

describe('an output of the run', () => {
  const publish = (name: string, body: object, token?: string) =>
    send('PUT', `/v1/runs/${theRunId}/deliveries/${name}`, body, token)
  const comment = { channel: 'github-comment', body: 'Found two things.' }

  test('is published once per name', async () => {
    const first = await publish('findings:1', comment, theRunToken)
    expect(first.statusCode).toBe(201)
    expect(first.json()).toMatchObject({
      name: 'findings:1',
      target: 'acme/widgets#5',
      already: false,
    })
    const again = await publish('findings:1', comment, theRunToken)
    expect([again.statusCode, again.json<{ already: boolean }>().already]).toEqual([200, true])
    expect(fakes.changes[0]).toMatchObject({
      actor: `run:${theRunId}`,
      request: {
        runId: theRunId,
        name: 'findings:1',
        leaseHash: hashSecret(leaseSecret),
        channel: 'github-comment',
        content: { form: 'text', body: 'Found two things.' },
      },
    })
  })

  test('is stored in the form of its channel', async () => {
    const bodies = [
      { channel: 'github-status', context: 'acme/x', state: 'success' },
      { channel: 'github-check', name: 'acme/x', conclusion: 'success' },
      { channel: 'github-label', label: 'needs-work', present: false },
      { channel: 'github-review', body: 'b', comments: [{ path: 'a.ts', line: 3, body: 'c' }] },
    ]
    for (const body of bodies) expect((await publish('x', body)).statusCode).toBeLessThan(300)
    expect(fakes.changes.map(({ request }) => (request as { content: unknown }).content)).toEqual([
      { context: 'acme/x', state: 'success', description: '', targetUrl: null },
      expect.objectContaining({ status: 'completed', conclusion: 'success' }),
      { label: 'needs-work', present: false },
      expect.objectContaining({ event: 'COMMENT', commitSha: null }),
    ])
  })

  test.each(['anchor', 'status', 'check'])('cannot be called %s', async (name) => {
    expect(problemOf(await publish(name, comment))).toMatchObject({
      status: 422,
      errors: [{ field: 'name', message: expect.stringContaining(`"${name}", which Holdfast`) }],
    })
    expect(fakes.changes).toEqual([])
  })

  test.each(['a b', 'a%2fb', 'x'.repeat(101), 'ü'])('cannot be called %j', async (name) => {
    const { status, errors } = problemOf(await publish(encodeURI(name), comment))
    expect([status, errors?.[0]?.field]).toEqual([400, 'name'])
  })

  test('on an unknown channel is refused with the list of channels', async () => {
    const { status, detail, errors } = problemOf(await publish('x', { channel: 'fax', body: 'b' }))
    expect([status, errors?.[0]?.field]).toEqual([422, 'channel'])
    expect(detail).toContain('github-comment')
    expect(detail).toContain('github-review')
  })

  test('with invalid content is refused with the field', async () => {
    const empty = problemOf(await publish('x', { ...comment, body: ' ' }))
    expect(empty).toMatchObject({ status: 422, errors: [{ field: 'body' }] })
    const line = { path: 'a.ts', line: 0, body: 'c' }
    const review = { channel: 'github-review', body: 'b', comments: [line] }
    expect(problemOf(await publish('x', review)).errors?.[0]?.field).toBe('comments.0.line')
    expect(problemOf(await publish('x', { ...comment, context: 'c' })).status).toBe(400)
  })

  test('of a worker needs its lease token', async () => {
    const refused = problemOf(await publish('x', comment, tokenOf('worker')))
    expect(refused).toMatchObject({ status: 422, errors: [{ field: 'lease_token' }] })
  })

  test('with other content than before is a conflict', async () => {
    fakes.failure = new ConflictError('content_differs', 'x was published with other content')
    const answer = await publish('x', comment)
    expect(problemOf(answer)).toMatchObject({ status: 409, code: 'content_differs' })
  })
})

describe('deliveries', () => {
  test('are listed, also by a task, which none has', async () => {
    expect(await get('/v1/deliveries?status=PENDING&wait=backoff&channel=github-status')).toEqual({
      items: [deliveryOnTheWire],
      next_cursor: 'next',
    })
    expect(await get('/v1/deliveries?task=t1')).toEqual({ items: [], next_cursor: null })
    expect(problemOf(await send('GET', '/v1/deliveries?status=SENDING')).status).toBe(422)
    expect(problemOf(await send('GET', '/v1/deliveries?wait=tea')).status).toBe(422)
  })

  test('are shown one by one with what they should show and every try', async () => {
    expect(await get(`/v1/deliveries/${theDeliveryId}`)).toEqual({
      ...deliveryOnTheWire,
      content: { context: 'holdfast/review', state: 'pending', description: '', targetUrl: null },
      attempts: [
        {
          id: 'att_1',
          action: 'create',
          version: { fence: 7, seq: 2 },
          started_at: '2026-01-31T11:59:58.500Z',
          ended_at: '2026-01-31T11:59:59.000Z',
          outcome: 'retry',
          late: false,
          error: { code: 'network', text: 'the connection never opened' },
          http_status: null,
          request_id: 'req_1',
          github_request_id: null,
          provider_message_id: null,
        },
      ],
    })
    expect(problemOf(await send('GET', '/v1/deliveries/del_none'))).toMatchObject({
      status: 404,
      code: 'delivery_not_found',
    })
  })

  test('are retried, skipped and confirmed by operators', async () => {
    const act = (verb: string, body?: object) =>
      send('POST', `/v1/deliveries/${theDeliveryId}/${verb}`, body, tokenOf('operator'))
    expect((await act('retry')).json()).toEqual(deliveryOnTheWire)
    expect((await act('skip', { reason: ' not needed ' })).json()).toMatchObject({
      status: 'SKIPPED',
      reason: 'not needed',
      wait: null,
    })
    expect((await act('confirm', { provider_message_id: '42' })).json()).toMatchObject({
      status: 'SENT',
    })
    expect((await act('confirm')).statusCode).toBe(200)
    expect(fakes.changes.map(({ verb, request }) => [verb, request])).toEqual([
      ['retryDelivery', { id: theDeliveryId }],
      ['skipDelivery', { id: theDeliveryId, reason: 'not needed' }],
      ['confirmDelivery', { id: theDeliveryId, providerId: '42' }],
      ['confirmDelivery', { id: theDeliveryId, providerId: null }],
    ])
    expect(new Set(fakes.changes.map(({ actor }) => actor))).toEqual(
      new Set(['token:tok_operator']),
    )
  })

  test('are skipped only with a reason', async () => {
    for (const reason of ['', '  ', 'x'.repeat(201)]) {
      const answer = await send('POST', `/v1/deliveries/${theDeliveryId}/skip`, { reason })
      expect(problemOf(answer)).toMatchObject({ status: 422, errors: [{ field: 'reason' }] })
    }
    expect(fakes.changes).toEqual([])
  })

  test('are retried many at a time', async () => {
    const body = { status: 'SKIPPED', channel: 'github-comment', run: theRunId }
    const answer = await send('POST', '/v1/deliveries/retry', body)
    expect(answer.json()).toEqual({ count: 2 })
    expect((await send('POST', '/v1/deliveries/retry')).json()).toEqual({ count: 2 })
    expect(fakes.changes.map(({ request }) => request)).toEqual([
      { status: 'SKIPPED', channel: 'github-comment', runId: theRunId },
      {},
    ])
    const sent = problemOf(await send('POST', '/v1/deliveries/retry', { status: 'SENT' }))
    expect(sent).toMatchObject({ status: 422, errors: [{ field: 'status' }] })
  })
})

test('a block is lifted, and the audit names who asked', async () => {
  const answer = await send('POST', '/v1/budgets/github:installation:7/unblock')
  expect(answer.statusCode).toBe(200)
  expect(fakes.changes).toMatchObject([
    { verb: 'unblockIdentity', request: { identity: 'github:installation:7' } },
  ])
})

test('budgets show what was used, what is allowed, and until when one is blocked', async () => {
  expect(await get('/v1/budgets')).toEqual({
    items: [
      {
        identity: 'installation:7',
        blocked_until: '2026-01-31T12:00:30.000Z',
        blocked_reason: 'rate_limited',
        last_write_at: '2026-01-31T11:59:59.000Z',
        minute: { used: 3, progress: 1, limit: 80 },
        hour: { used: 9, progress: 2, limit: null },
        spacing_ms: 1000,
      },
    ],
  })
})
