/** What each endpoint passes to the service, and how it returns the answer. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { hashSecret, leaseToken } from '../../src/secrets.ts'
import { leaseSecret, theRun, theRunId } from './fakes.ts'
import {
  aClaim,
  ask,
  bearer,
  problemOf,
  serverUnderTest,
  theRunToken,
  tokenOf,
} from './server-under-test.ts'

let { server, fakes, logged } = serverUnderTest()
beforeEach(async () => {
  await server.close()
  ;({ server, fakes, logged } = serverUnderTest())
})
afterAll(() => server.close())

const post = (url: string, payload?: object, headers = {}) =>
  ask(server, { method: 'POST', url, headers, ...(payload === undefined ? {} : { payload }) })

const runOnTheWire = {
  id: theRunId,
  key: theRun.key,
  type: 'review',
  subject: 'pr-5',
  repo: 'acme/widgets',
  pr: 5,
  issue: null,
  task_id: null,
  phase: null,
  base_sha: 'a'.repeat(40),
  head_sha: 'b'.repeat(40),
  state: 'running',
  attempt: 1,
  round: 1,
  fence: 1,
  superseded_by: null,
  created_at: '2026-01-31T12:00:00.000Z',
  started_at: '2026-01-31T12:00:00.000Z',
  finished_at: null,
  deadline_at: '2026-01-31T13:00:00.000Z',
  lease_expires_at: '2026-01-31T12:01:00.000Z',
  outcome: null,
  verdict: null,
  summary: null,
  description: null,
  target_url: null,
  input: { depth: 2 },
  feedback: null,
  trigger: { event: 'pull_request', action: 'opened', sender: 'mona' },
  previous: { run_id: 'run_before', head_sha: 'c'.repeat(40), verdict: 'failure' },
  result: null,
  error: null,
  anchor: { comment_id: 77, url: 'https://github.test/acme/widgets/pull/5#77' },
  status_context: 'holdfast/review',
}

describe('a claim', () => {
  test('of a pull request to be processed is 201 with the run and its lease', async () => {
    const answer = await post('/v1/runs', {
      ...aClaim,
      webhook_id: 'guid',
      event_at: '2026-01-31T14:00:00.5+02:00',
      input: { a: [1, null, { __proto__x: 1 }] },
    })
    expect(answer.statusCode).toBe(201)
    expect(answer.json()).toEqual({
      should_process: true,
      reason: 'new',
      run_key: theRun.key,
      superseded_run_keys: [],
      run: runOnTheWire,
      lease: { token: leaseToken(leaseSecret), expires_at: '2026-01-31T12:01:00.000Z' },
      run_token: theRunToken,
    })
    expect(fakes.changes).toMatchObject([
      {
        verb: 'claim',
        actor: 'admin',
        request: {
          kind: 'pull_request',
          type: 'review',
          repo: 'acme/widgets',
          pr: 5,
          baseSha: 'a'.repeat(40),
          headSha: 'b'.repeat(40),
          webhookId: 'guid',
          eventAt: Date.parse('2026-01-31T12:00:00.500Z'),
        },
      },
    ])
  })

  test('that is not to be processed is 200', async () => {
    const answer = await post('/v1/runs', { ...aClaim, rerun: true, delivery_id: 'guid' })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({ should_process: false, lease: null, run_token: null })
    expect(fakes.changes).toMatchObject([{ request: { webhookId: 'guid', rerun: true } }])
  })

  test('of a job has its key, subject and sha', async () => {
    const job = { key: 'docs:1', subject: 'docs', type: 'docs', sha: 'F'.repeat(64), lease: false }
    expect((await post('/v1/runs', job)).statusCode).toBe(201)
    expect(fakes.changes).toMatchObject([
      {
        request: { kind: 'job', key: 'docs:1', subject: 'docs', sha: 'f'.repeat(64), lease: false },
      },
    ])
  })

  test.each(['', 'abc', 'b'.repeat(39), 'b'.repeat(41), 'b'.repeat(63), 'g'.repeat(40), 'main'])(
    'with the invalid sha %j is refused before anything is done (scenario 54)',
    async (sha) => {
      const claims = [
        [{ ...aClaim, head_sha: sha }, 'head_sha'],
        [{ ...aClaim, base_sha: sha }, 'base_sha'],
        [{ key: 'docs:1', type: 'docs', repo: 'acme/widgets', sha }, 'sha'],
      ] as const
      for (const [claim, field] of claims) {
        const answer = await post('/v1/runs', claim)
        expect(problemOf(answer)).toMatchObject({ status: 422, errors: [{ field }] })
      }
      expect(fakes.changes).toEqual([])
    },
  )

  test('with two different ids of its delivery is refused', async () => {
    const answer = await post('/v1/runs', { ...aClaim, webhook_id: 'a', delivery_id: 'b' })
    expect(problemOf(answer)).toMatchObject({ status: 422, errors: [{ field: 'delivery_id' }] })
  })

  test('with a misspelt field is refused with the right spelling', async () => {
    const { head_sha: headSha, ...rest } = aClaim
    const answer = await post('/v1/runs', { ...rest, headSha, colour: 'red' })
    const { status, errors, detail } = problemOf(answer)
    expect(status).toBe(400)
    expect(detail).toBe(
      'head_sha is required; headSha is not a known field. Did you mean "head_sha"? ' +
        'colour is not a known field.',
    )
    const alone = await post('/v1/runs', { ...aClaim, inptu: 1 })
    expect(problemOf(alone)).toMatchObject({
      detail: 'inptu is not a known field. Did you mean "input"?',
    })
    expect(errors).toEqual([
      { field: 'head_sha', message: 'is required' },
      { field: 'headSha', message: 'is not a known field. Did you mean "head_sha"?' },
      { field: 'colour', message: 'is not a known field' },
    ])
  })

  test.each([{}, { type: 'docs', lease: false }])(
    'of nothing names both forms (%o)',
    async (body) => {
      const answer = await post('/v1/runs', body)
      expect(problemOf(answer)).toMatchObject({
        status: 400,
        detail: 'key is required for a job; a pull request needs repo, pr, base_sha and head_sha.',
      })
    },
  )

  test('with a number and no key is judged as a pull request, whatever else is there', async () => {
    const { repo, pr } = aClaim
    const sha = 'f'.repeat(40)
    for (const more of [{ sha }, { subject: 'docs' }]) {
      const problem = problemOf(await post('/v1/runs', { type: 'deploy', repo, pr, ...more }))
      expect(problem.detail).toContain('base_sha is required; head_sha is required; ')
      expect(problem.detail).toContain(`${Object.keys(more).join()} is not a known field`)
      expect(problem.detail).not.toContain('key is required')
    }
  })

  test('keeps a key named __proto__ in its input as plain data', async () => {
    const payload = `{"key":"k","type":"t","input":{"__proto__":{"admin":true}}}`
    const answer = await ask(server, {
      method: 'POST',
      url: '/v1/runs',
      payload,
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.statusCode).toBe(201)
    const { input } = fakes.changes[0]?.request as { input: object }
    expect(JSON.stringify(input)).toBe('{"__proto__":{"admin":true}}')
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })
})

describe('a holder', () => {
  test('leases a run, or gets 204 if there is none', async () => {
    const taken = await post('/v1/runs/lease', { worker: 'w', types: ['review'], lease_ms: 5000 })
    expect(taken.statusCode).toBe(200)
    expect(taken.json()).toMatchObject({ run: runOnTheWire, run_token: theRunToken })
    const none = await post('/v1/runs/lease', { worker: 'idle', wait_ms: 10 })
    expect([none.statusCode, none.body]).toEqual([204, ''])
    expect(fakes.changes).toMatchObject([
      { verb: 'lease', request: { worker: 'w', types: ['review'], leaseMs: 5000 } },
      { verb: 'lease', request: { worker: 'idle', waitMs: 10 } },
    ])
  })

  test.each(['heartbeat', 'release', 'complete'])('names its lease token to %s', async (verb) => {
    const outcome = verb === 'complete' ? { outcome: 'succeeded' } : {}
    const url = `/v1/runs/${theRunId}/${verb}`
    const missing = await post(url, outcome, bearer(tokenOf('worker')))
    expect(problemOf(missing)).toMatchObject({ status: 400, errors: [{ field: 'lease_token' }] })
    expect(fakes.changes).toEqual([])

    const named = { lease_token: leaseToken(leaseSecret), ...outcome }
    expect((await post(url, named, bearer(tokenOf('worker')))).statusCode).toBe(200)
    const implied = verb === 'complete' ? outcome : undefined
    expect((await post(url, implied, bearer(theRunToken))).statusCode).toBe(200)
    const request = { runId: theRunId, leaseHash: hashSecret(leaseSecret) }
    expect(fakes.changes).toMatchObject([
      { verb, request, actor: 'token:tok_worker' },
      { verb, request, actor: `run:${theRunId}` },
    ])
  })

  test('gets the time until which the lease is valid', async () => {
    const answer = await post(`/v1/runs/${theRunId}/heartbeat`, {}, bearer(theRunToken))
    expect(answer.json()).toEqual({ expires_at: '2026-01-31T12:01:00.000Z' })
  })

  test('may report an error as a text or with a code', async () => {
    const complete = (error: unknown) =>
      post(`/v1/runs/${theRunId}/complete`, { outcome: 'failed', error }, bearer(theRunToken))
    await complete('it broke\n\tbadly')
    await complete({ code: 'out_of_memory', text: '' })
    expect(fakes.changes).toMatchObject([
      { request: { error: { code: 'failed', text: 'it broke\n\tbadly' } } },
      { request: { error: { code: 'out_of_memory', text: '' } } },
    ])
  })
})

describe('an operator', () => {
  test.each([
    ['cancel', 200],
    ['rerun', 201],
  ])('can %s with no body, an empty one or an empty object', async (verb, status) => {
    const url = `/v1/runs/${theRunId}/${verb}`
    const json = { 'content-type': 'application/json' }
    const answers = [await post(url), await post(url, undefined, json), await post(url, {})]
    expect(answers.map((answer) => answer.statusCode)).toEqual([status, status, status])
    expect(problemOf(await post(url, { force: true }))).toMatchObject({
      status: 400,
      errors: [{ field: 'force', message: 'is not a known field' }],
    })
  })

  test('reads runs and their history', async () => {
    const get = async (url: string) => (await ask(server, { url })).json<unknown>()
    expect(await get(`/v1/runs/${theRunId}`)).toEqual(runOnTheWire)
    expect(await get('/v1/runs?repo=Acme/Widgets&pr=5&state=running&limit=1')).toEqual({
      items: [runOnTheWire],
      next_cursor: 'next',
    })
    expect(await get('/v1/runs?issue=4')).toEqual({ items: [], next_cursor: null })
    expect(await get('/v1/runs?task=t1')).toEqual({ items: [], next_cursor: null })
    const event = {
      id: 7,
      order: 7,
      cause_id: 3,
      at: '2026-01-31T12:00:00.000Z',
      type: 'run.claimed',
      actor: 'admin',
      run_id: theRunId,
      task_id: null,
      delivery_id: null,
      data: { reason: 'new' },
    }
    expect(await get(`/v1/runs/${theRunId}/audit`)).toEqual({ items: [event], next_cursor: null })
    expect(await get(`/v1/audit?run=${theRunId}&type=run.claimed`)).toMatchObject({
      items: [event],
    })
    expect(await get('/v1/audit?delivery=d1')).toMatchObject({ items: [{ delivery_id: 'd1' }] })
    expect(await get('/v1/audit?task=t1')).toEqual({ items: [], next_cursor: null })
  })

  test('gets 404 for an unknown run', async () => {
    for (const url of ['/v1/runs/run_none', '/v1/runs/run_none/audit']) {
      expect(problemOf(await ask(server, { url }))).toMatchObject({
        status: 404,
        code: 'run_not_found',
      })
    }
  })
})

describe('tokens', () => {
  test('are shown once, listed without their secret, and revoked', async () => {
    const made = await post('/v1/tokens', { scope: 'bot:telegram', name: 'the bot', user_id: 4 })
    expect(made.statusCode).toBe(201)
    const [change] = fakes.changes
    expect(change).toMatchObject({ request: { scope: 'bot:telegram', name: 'the bot', userId: 4 } })
    const { secret } = change?.request as { secret: string }
    expect(made.json()).toEqual({ id: 'tok_new', token: `hft_tok_new.${secret}` })

    const list = await ask(server, { url: '/v1/tokens' })
    expect(list.json()).toMatchObject({ next_cursor: null })
    expect(list.body).not.toMatch(/secret|hash/i)

    const gone = await ask(server, { method: 'DELETE', url: '/v1/tokens/tok_read' })
    expect([gone.statusCode, gone.body]).toEqual([204, ''])
    const again = await ask(server, { method: 'DELETE', url: '/v1/tokens/tok_none' })
    expect(problemOf(again)).toMatchObject({ status: 404, code: 'token_not_found' })
  })
})

describe('every answer', () => {
  test('names its request, by the caller’s own id when that is harmless', async () => {
    const id = async (given: string) => {
      const answer = await server.inject({ url: '/healthz', headers: { 'x-request-id': given } })
      return answer.headers['x-request-id']
    }
    expect(await id('Trace-1.a_b')).toBe('Trace-1.a_b')
    for (const bad of ['', 'a b', 'x'.repeat(101), 'a\tb']) {
      expect(await id(bad)).toMatch(/^req_[0-9a-z]{26}$/)
    }
  })

  test('forbids caching and content guessing, and does not name the server software', async () => {
    for (const url of ['/healthz', '/v1/runs', '/v1/none', '/docs']) {
      const { headers } = await ask(server, { url })
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      expect(headers).not.toHaveProperty('x-powered-by')
    }
  })

  test('is logged in one line, by route, without tokens or bodies', async () => {
    await post('/v1/runs', { ...aClaim, input: 'body-text' }, { 'idempotency-key': 'key-text' })
    await ask(server, { url: `/v1/runs/${theRunId}?x=query-text` })
    expect(logged.map((line) => JSON.parse(line) as unknown)).toMatchObject(
      [
        { method: 'POST', route: '/v1/runs', status: 201, ms: 0, request_id: /^req_/ },
        { method: 'GET', route: '/v1/runs/:id', status: 400 },
      ].map((line) => ({ ...line, request_id: expect.stringMatching(/^req_/) as string })),
    )
    expect(logged.join()).not.toMatch(/admin-token|body-text|query-text|Bearer|key-text/)
  })
})
