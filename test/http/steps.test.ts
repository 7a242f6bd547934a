/**
 * Goal: the steps of a run by HTTP: each body is one request to the store, each answer of the store
 * has its own answer, and a body that fits no form is refused by its field.
 */
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import type { Step, StepReply } from '../../src/domain/step.ts'
import { stepKey } from '../../src/ids.ts'
import { hashSecret, leaseToken, runToken } from '../../src/secrets.ts'
import { theStep } from './fake-steps.ts'
import { leaseSecret, theRun, theRunId } from './fakes.ts'
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

const url = `/v1/runs/${theRunId}/steps/charge`
const held = { lease_token: leaseToken(leaseSecret), start_id: 's1' }
const put = (body: object, token = tokenOf('worker')) =>
  ask(server, { method: 'PUT', url, payload: body, headers: bearer(token) })
const post = (verb: string, body?: object, headers = {}) =>
  ask(server, {
    method: 'POST',
    url: `${url}/${verb}`,
    headers: { ...bearer(tokenOf('operator')), ...headers },
    ...(body && { payload: body }),
  })
const answered = (reply: StepReply, over: Partial<Step> = {}): void => {
  fakes.stepAnswer = { reply, step: { ...theStep, ...over } }
}
const key = stepKey(theStep)

describe('a holder', () => {
  test.each([
    [{ state: 'started' }, { do: 'begin', policy: 'repeat' }],
    [
      { state: 'started', in_doubt: 'hold' },
      { do: 'begin', policy: 'hold' },
    ],
    [{ take_over: true }, { do: 'take-over', policy: 'hold' }],
    [
      { take_over: true, in_doubt: 'repeat' },
      { do: 'take-over', policy: 'repeat' },
    ],
    [
      { confirmed: true, result: { id: 7 } },
      { do: 'confirm', result: '{"id":7}' },
    ],
    [{ held: true }, { do: 'hold' }],
    [{ result: null }, { do: 'record', result: 'null' }],
    [{ result: 'x' }, { do: 'record', result: '"x"' }],
    [
      { error: { code: 'refused', text: 'no' } },
      { do: 'fail', errorCode: 'refused', errorText: 'no' },
    ],
    [{ error: 'no' }, { do: 'fail', errorCode: 'failed', errorText: 'no' }],
  ])('sends %j, and the store is asked for %j', async (body, action) => {
    expect((await put({ ...held, ...body })).statusCode).toBe(200)
    const request = {
      runId: theRunId,
      name: 'charge',
      startId: 's1',
      codeVersion: null,
      leaseHash: hashSecret(leaseSecret),
      actor: 'token:tok_worker',
      action,
    }
    expect(fakes.changes).toMatchObject([{ verb: 'actOnStep', request }])
  })

  test('names the version of its code, and its lease unless it has a run token', async () => {
    const { lease_token: _token, ...rest } = { ...held, state: 'started', code_version: 'v7' }
    expect(problemOf(await put(rest))).toMatchObject({
      status: 400,
      errors: [{ field: 'lease_token', message: 'is required' }],
    })
    expect((await put(rest, theRunToken)).statusCode).toBe(200)
    const { state: _state, ...confirmed } = { ...rest, confirmed: true, result: 1 }
    expect((await put(confirmed, theRunToken)).statusCode).toBe(200)
    const request = { leaseHash: hashSecret(leaseSecret), codeVersion: 'v7' }
    const change = { request, actor: `run:${theRunId}` }
    expect(fakes.changes).toMatchObject([change, change])
  })

  test('learns that it began the step, and its key', async () => {
    const begin = { ...held, state: 'started' }
    const started = { state: 'started', key, attempt: 2, name: 'charge', round: 1 }
    expect((await put(begin)).json()).toEqual(started)
    answered('already')
    expect((await put(begin)).json()).toEqual({ ...started, already: true })
  })

  test('gets the stored result or error instead of doing it again', async () => {
    const begin = { ...held, state: 'started' }
    const known = { key, attempt: 2, name: 'charge', round: 1 }
    answered('known', { state: 'done', result: 'null' })
    expect((await put(begin)).json()).toEqual({ ...known, state: 'done', result: null })
    answered('known', { state: 'failed', errorCode: 'refused', errorText: 'no' })
    const error = { code: 'refused', text: 'no' }
    expect((await put(begin)).json()).toEqual({ ...known, state: 'failed', error })
  })

  test.each([{ result: 2 }, { confirmed: true, result: 2 }])(
    'gets the first result again after %j',
    async (body) => {
      answered('recorded', { state: 'done', result: '1' })
      expect((await put({ ...held, ...body })).json()).toMatchObject({ state: 'done', result: 1 })
      answered('confirmed' in body ? 'known' : 'already', { state: 'done', result: '1' })
      const again = { state: 'done', result: 1, already: true }
      expect((await put({ ...held, ...body })).json()).toMatchObject(again)
    },
  )

  test('that holds the step for a person learns so', async () => {
    answered('held', { state: 'held' })
    expect((await put({ ...held, held: true })).json()).toMatchObject({ state: 'held' })
  })

  test('meets a step in doubt with its key and attempt, and how to go on', async () => {
    answered('in-doubt')
    const problem = problemOf(await put({ ...held, state: 'started' }))
    expect(problem).toMatchObject({ status: 409, code: 'step_in_doubt', key, attempt: 2 })
    expect(problem.hint).toMatch(/take_over.*confirmed.*held/)
  })

  test('is told that its result is late, or that nobody began the step', async () => {
    answered('late')
    expect(problemOf(await put({ ...held, result: 1 }))).toMatchObject({
      status: 409,
      code: 'step_late',
    })
    for (const step of [null, { ...theStep, state: 'open' } as const]) {
      fakes.stepAnswer = { reply: 'not-begun', step }
      const problem = problemOf(await put({ ...held, result: 1 }))
      expect(problem).toMatchObject({ status: 409, code: 'step_not_begun' })
      expect(problem.hint).toContain('"state": "started"')
    }
  })
})

describe('a body', () => {
  const others = 'take_over, confirmed, held, error, result'

  test.each([
    [{}, 'state', `is required to begin the step; or send one of: ${others}`],
    [{ resutl: 1 }, 'state', `is required to begin the step; or send one of: ${others}`],
    [
      { state: 'started', result: 1 },
      'result',
      'does not go with state. Send them in requests of their own',
    ],
    [
      { error: 'x', result: 1 },
      'result',
      'does not go with error. Send them in requests of their own',
    ],
    [
      { take_over: true, confirmed: true, result: 1 },
      'confirmed',
      'does not go with take_over. Send them in requests of their own',
    ],
    [{ confirmed: true }, 'result', 'is required'],
    [{ held: true, in_doubt: 'hold' }, 'in_doubt', 'is not a known field'],
  ])('of %j is refused with 400 for %s', async (body, field, message) => {
    const problem = problemOf(await put({ ...held, ...body }))
    expect(problem).toMatchObject({ status: 400, errors: [{ field, message }] })
    expect(fakes.changes).toEqual([])
  })

  test.each([
    [{ state: 'done' }, 'state', 'must be started'],
    [{ take_over: false }, 'take_over', 'must be true'],
    [{ state: 'started', in_doubt: 'retry' }, 'in_doubt', 'must be repeat, confirm or hold'],
    [{ state: 'started', start_id: '' }, 'start_id', 'must not be empty'],
    [{ state: 'started', start_id: 'a\tb' }, 'start_id', 'must be one line without'],
    [
      { result: 'x'.repeat(256 * 1024 - 1) },
      'result',
      'must be at most 256 KB as JSON. Store it elsewhere, and return a reference to it',
    ],
  ])('is refused with 422 for a value of %s', async (body, field, message) => {
    const problem = problemOf(await put({ ...held, ...body }))
    const errors = [{ field, message: expect.stringContaining(message) as string }]
    expect(problem).toMatchObject({ status: 422, errors })
    expect(fakes.changes).toEqual([])
  })

  test('may have a result of exactly 256 KB', async () => {
    const result = 'x'.repeat(256 * 1024 - 2)
    expect((await put({ ...held, result })).statusCode).toBe(200)
  })
})

test('a name has 1 to 100 characters that need no escape in a path', async () => {
  const status = async (name: string) => {
    const place = `/v1/runs/${theRunId}/steps/${name}`
    const payload = { ...held, state: 'started' }
    return (await ask(server, { method: 'PUT', url: place, payload })).statusCode
  }
  for (const good of ['a', 'A-z_0.9:x', '...', 'x'.repeat(100)]) {
    expect([good, await status(good)]).toEqual([good, 200])
  }
  for (const bad of ['x'.repeat(101), 'a%20b', 'a%2Fb', '%C3%BC']) {
    expect([bad, await status(bad)]).toEqual([bad, 400])
  }
})

describe('a reader', () => {
  const get = (path: string) => ask(server, { url: path, headers: bearer(tokenOf('read')) })
  const shown = {
    run_id: theRunId,
    round: 1,
    name: 'charge',
    state: 'started',
    key,
    attempt: 2,
    in_doubt: 'hold',
    fence: 7,
    started_at: '2026-01-31T12:00:00.000Z',
    ended_at: null,
    error: null,
    code_version: 'v1',
  }

  test('lists the steps of a round without results', async () => {
    const list = `/v1/runs/${theRunId}/steps`
    expect((await get(list)).json()).toEqual({ items: [shown], next_cursor: null })
    expect((await get(`${list}?round=2`)).json()).toEqual({ items: [], next_cursor: null })
    expect(problemOf(await get('/v1/runs/run_none/steps')).code).toBe('run_not_found')
  })

  test('reads one step with its result', async () => {
    expect((await get(url)).json()).toEqual({ ...shown, result: null })
    answered('known', { state: 'done', result: '[1]' })
    expect((await get(url)).json()).toMatchObject({ state: 'done', result: [1] })
    expect(problemOf(await get(`${url}x`))).toMatchObject({ status: 404, code: 'step_not_found' })
  })

  test('of a lease finds the names and states of its steps', async () => {
    const leased = await ask(server, {
      method: 'POST',
      url: '/v1/runs/lease',
      payload: { worker: 'w' },
    })
    const [step] = leased.json<{ steps: object[] }>().steps
    expect(step).toEqual({ name: 'charge', state: 'started', key, attempt: 2 })
  })
})

describe('an operator', () => {
  test.each([
    ['confirm', { result: { id: 7 } }, { do: 'confirm', result: '{"id":7}' }],
    ['confirm', undefined, { do: 'confirm', result: 'null' }],
    ['repeat', undefined, { do: 'repeat' }],
    ['fail', { text: ' not paid ' }, { do: 'fail', text: 'not paid' }],
    ['fail', undefined, { do: 'fail', text: null }],
  ] as const)('decides with %s %j', async (verb, body, decision) => {
    const answer = await post(verb, body, { 'idempotency-key': 'k' })
    expect([answer.statusCode, answer.json()]).toMatchObject([
      200,
      { step: { name: 'charge', state: 'open' }, run: { id: theRunId, state: 'pending' } },
    ])
    const request = { runId: theRunId, name: 'charge', actor: 'token:tok_operator', decision }
    const once = { keyHash: expect.any(String) as string }
    expect(fakes.changes).toMatchObject([{ verb: 'decideStep', request, once }])
  })
})

describe('the run token of a holder that lost the run', () => {
  const past = { leaseHash: hashSecret('another'), pastLeaseHashes: `x ${theRun.leaseHash}` }
  const statusWith = async (run: Partial<Run>, method: 'PUT' | 'GET' = 'PUT') => {
    fakes.run = { ...theRun, ...run }
    const body = method === 'PUT' ? { payload: { start_id: 's1', result: 1 } } : {}
    return (await ask(server, { method, url, headers: bearer(theRunToken), ...body })).statusCode
  }

  test.each([
    ['another holder', { ...past }, 409],
    ['no holder', { ...past, leaseHash: null, state: 'pending' }, 409],
    ['a newer head', { ...past, state: 'superseded' }, 409],
    ['ended', { ...past, leaseHash: null, state: 'failed' }, 401],
    ['completed', { state: 'succeeded', completedLeaseHash: theRun.leaseHash }, 401],
    ['a next round', { leaseHash: null, completedLeaseHash: theRun.leaseHash }, 401],
  ] as const)('may still send a result, with %s, and nothing else', async (_how, run, other) => {
    expect(await statusWith(run)).toBe(200)
    expect(fakes.changes).toMatchObject([{ request: { leaseHash: theRun.leaseHash } }])
    expect(await statusWith(run, 'GET')).toBe(other)
  })

  test('is refused if its token was revoked, or was never one of this run', async () => {
    expect(await statusWith({ tokenId: 'tok_x', tokenUntil: 0 })).toBe(401)
    expect(await statusWith({ leaseHash: hashSecret('another') })).toBe(401)
    fakes.run = theRun
    const unknown = bearer(runToken('run_none', leaseSecret))
    expect((await ask(server, { method: 'PUT', url, headers: unknown })).statusCode).toBe(401)
    expect(fakes.changes).toEqual([])
  })
})
