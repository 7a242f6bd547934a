/**
 * Goal: a person decides once about a held step, the run goes on in the same attempt, and a repeat
 * of the decision is either the same answer (with an idempotency key) or refused.
 * Method: the real services over a store in memory.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { adminToken, bearer, problemOf } from './server-under-test.ts'
import { realServer, type RealServer } from './real-server.ts'

let real: RealServer
let runId = ''
let operator = ''
beforeEach(async () => {
  real = realServer()
  const job = { key: 'nightly', type: 'docs', lease: false }
  runId = (await send('POST', '/v1/runs', job)).json<{ run: { id: string } }>().run.id
  operator = (await send('POST', '/v1/tokens', { scope: 'operator' })).json<Token>().token
  const token = await lease()
  await step(token, { state: 'started', start_id: 's1', in_doubt: 'hold' })
  expect((await step(token, { held: true, start_id: 's1' })).statusCode).toBe(200)
})
afterEach(() => real.close())

interface Token {
  readonly token: string
}

const send = (
  method: 'GET' | 'POST' | 'PUT',
  url: string,
  payload?: object,
  as = adminToken,
  headers = {},
) =>
  real.server.inject({
    method,
    url,
    headers: { ...bearer(as), ...headers },
    ...(payload && { payload }),
  })
const lease = async () =>
  (await send('POST', '/v1/runs/lease', { worker: 'w' })).json<{ run_token: string }>().run_token
const step = (token: string, body: object) =>
  send('PUT', `/v1/runs/${runId}/steps/charge`, body, token)
const decide = (verb: string, body: object = {}, headers = {}) =>
  send('POST', `/v1/runs/${runId}/steps/charge/${verb}`, body, operator, headers)
const run = async () => (await send('GET', `/v1/runs/${runId}`)).json<Record<string, unknown>>()

test('while it is held, the run waits without a holder and cannot be leased', async () => {
  expect(await run()).toMatchObject({ state: 'waiting', attempt: 1, deadline_at: null })
  expect((await send('POST', '/v1/runs/lease', { worker: 'w' })).statusCode).toBe(204)
})

describe('a decision', () => {
  test.each([
    ['confirm', { result: { id: 7 } }, 'done', { state: 'done', result: { id: 7 }, attempt: 1 }],
    ['repeat', {}, 'open', { state: 'started', attempt: 2 }],
    [
      'fail',
      { text: 'not paid' },
      'failed',
      { state: 'failed', error: { code: 'step_failed', text: 'not paid' }, attempt: 1 },
    ],
  ])('to %s lets the run go on in the same attempt', async (verb, body, state, begun) => {
    const decided = await decide(verb, body)
    expect([decided.statusCode, decided.json()]).toMatchObject([
      200,
      { step: { name: 'charge', state }, run: { id: runId, state: 'pending', attempt: 1 } },
    ])
    const token = await lease()
    const again = await step(token, { state: 'started', start_id: 's2', in_doubt: 'hold' })
    expect(again.json()).toMatchObject(begun)
    expect(await run()).toMatchObject({ state: 'running', attempt: 1 })
  })

  test('is repeated by its idempotency key, and refused without one', async () => {
    const key = { 'idempotency-key': 'once' }
    const first = await decide('confirm', { result: 1 }, key)
    const again = await decide('confirm', { result: 1 }, key)
    expect([again.statusCode, again.body]).toEqual([200, first.body])
    expect(problemOf(await decide('confirm', { result: 2 }, key))).toMatchObject({
      status: 422,
      code: 'idempotency_key_reused',
    })
    expect(problemOf(await decide('repeat'))).toMatchObject({
      ...{ status: 409, code: 'step_not_held' },
      detail: expect.stringContaining('only a held step can be decided'),
    })
  })

  test('about an unknown step is 404, and about a run that has ended 409', async () => {
    const unknown = await send('POST', `/v1/runs/${runId}/steps/none/repeat`, {}, operator)
    expect(problemOf(unknown)).toMatchObject({ status: 404, code: 'step_not_found' })
    await send('POST', `/v1/runs/${runId}/cancel`)
    expect(problemOf(await decide('repeat'))).toMatchObject({ status: 409, code: 'not_active' })
  })
})

test('without a decision within a week, the run fails', async () => {
  const dayMs = 86_400_000
  await real.pass(7 * dayMs - 1000)
  expect(await run()).toMatchObject({ state: 'waiting' })
  await real.pass(2000)
  expect(await run()).toMatchObject({ state: 'failed', error: { code: 'step_unresolved' } })
})
