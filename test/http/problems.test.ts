/**
 * Goal: one table maps every error to its answer, and nothing internal is revealed.
 * Method: the fakes fail with each kind of error.
 */
import { afterAll, beforeEach, expect, test } from 'vitest'
import {
  ConflictError,
  InvalidInputError,
  NotFoundError,
  SetupError,
  StoreUnavailableError,
} from '../../src/errors.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { theRun } from './fakes.ts'
import {
  aClaim,
  adminToken,
  ask,
  problemOf,
  serverUnderTest,
  theRunToken,
} from './server-under-test.ts'

let { server, fakes, logged, deps } = serverUnderTest()
beforeEach(async () => {
  await server.close()
  ;({ server, fakes, logged, deps } = serverUnderTest())
})
afterAll(() => server.close())

const claim = () => ask(server, { method: 'POST', url: '/v1/runs', payload: aClaim })

test.each([
  [new ConflictError('key_conflict', 'the key is taken'), 409, 'key_conflict'],
  [new NotFoundError('run_not_found', 'there is no run'), 404, 'run_not_found'],
  [new InvalidInputError('event_in_future', 'event_at', 'is ahead'), 422, 'event_in_future'],
  [new StoreUnavailableError('store_unavailable', 'the store is away'), 503, 'store_unavailable'],
])('%s becomes its status', async (error, status, code) => {
  fakes.failure = error
  const answer = await claim()
  expect(problemOf(answer)).toMatchObject({ status, code, detail: error.message })
  expect(answer.headers['retry-after']).toBe(status === 503 ? '1' : undefined)
})

test('a wrong value found by a service is reported like one found in the request', async () => {
  fakes.failure = new InvalidInputError('event_in_future', 'event_at', 'is ahead', {
    hint: 'Wait.',
  })
  expect(problemOf(await claim())).toMatchObject({
    errors: [{ field: 'event_at', message: 'is ahead' }],
    hint: 'Wait.',
  })
})

test.each([
  new Error('password=hunter2 at db.internal'),
  new SetupError('broken', 'password=hunter2'),
  Object.assign(new Error('hunter2'), { statusCode: 418, code: 'hunter2' }),
])('an unexpected error is a 500 without details, which are in the log', async (error) => {
  fakes.failure = error
  const answer = await claim()
  expect(problemOf(answer)).toMatchObject({ status: 500, code: 'internal_error' })
  expect(answer.body).not.toContain('hunter2')
  const line = logged.find((text) => text.includes('hunter2')) ?? '{}'
  expect(JSON.parse(line)).toMatchObject({ request_id: answer.headers['x-request-id'] })
  expect(line).not.toContain(adminToken)
})

test('an answer that breaks the contract is a 500, not a wrong answer', async () => {
  fakes.run = { ...theRun, state: 'odd' as 'running' }
  const answer = await ask(server, { url: `/v1/runs/${theRun.id}` })
  expect(problemOf(answer)).toMatchObject({ status: 500, code: 'internal_error' })
})

test('readiness is 503 while the store does not answer', async () => {
  const ready = await server.inject({ url: '/readyz' })
  const fine = { status: 'ok', store: 'ok', queue: 'ok' }
  expect([ready.statusCode, ready.json()]).toEqual([200, fine])
  fakes.failure = new Error('connect ECONNREFUSED db.internal')
  const down = await server.inject({ url: '/readyz' })
  expect(problemOf(down)).toMatchObject({ status: 503, code: 'not_ready' })
  expect(down.body).not.toContain('db.internal')
  expect((await server.inject({ url: '/healthz' })).statusCode).toBe(200)
})

test.each([
  ['is away', async () => ({ ...(await deps.queueHealth()), ok: false, detail: 'redis.internal' })],
  ['does not answer', () => new Promise<never>(() => undefined)],
])('readiness is kept and degraded while the queue %s', async (_how, queueHealth) => {
  const degraded = createHttpServer({ ...deps, queueHealth })
  const answer = await degraded.inject({ url: '/readyz' })
  const body = { status: 'degraded', store: 'ok', queue: 'away' }
  expect([answer.statusCode, answer.json()]).toEqual([200, body])
  await degraded.close()
})

test('health needs no token and ignores a wrong one', async () => {
  const headers = { authorization: 'Bearer wrong' }
  expect((await server.inject({ url: '/healthz', headers })).json()).toEqual({ status: 'ok' })
})

test('a run token is never in the log', async () => {
  await ask(server, { url: '/v1/audit', headers: { authorization: `Bearer ${theRunToken}` } })
  expect(logged.join()).not.toContain(theRunToken.split('.')[1])
})
