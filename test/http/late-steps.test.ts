/**
 * Goal: a result that comes after its sender lost the run is stored if nobody began the step again,
 * and changes nothing otherwise, whichever token sends it. Everything else that an old token sends
 * is refused as before.
 * Method: the real services over a store in memory.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { adminToken, bearer, problemOf } from './server-under-test.ts'
import { realServer, type RealServer } from './real-server.ts'

let real: RealServer
let runId = ''
beforeEach(async () => {
  real = realServer()
  const job = { key: 'nightly', type: 'docs', lease: false }
  runId = (await call('POST', '/v1/runs', job)).json<{ run: { id: string } }>().run.id
})
afterEach(() => real.close())

const call = (
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  payload?: object,
  as = adminToken,
) => real.server.inject({ method, url, headers: bearer(as), ...(payload && { payload }) })

interface Held {
  readonly run_token: string
  readonly lease: { readonly token: string }
  readonly steps: readonly { readonly name: string; readonly state: string }[]
}

const lease = async (worker: string, as = adminToken) =>
  (await call('POST', '/v1/runs/lease', { worker }, as)).json<Held>()
const step = (body: object, as: string) => call('PUT', `/v1/runs/${runId}/steps/charge`, body, as)
const begin = (held: Held, startId: string) =>
  step({ state: 'started', start_id: startId, in_doubt: 'hold' }, held.run_token)
const stored = async () => {
  const answer = await call('GET', `/v1/runs/${runId}/steps/charge`)
  const { state, attempt, result } = answer.json<Record<string, unknown>>()
  return { state, attempt, result }
}
const auditTypes = async () =>
  (await call('GET', `/v1/runs/${runId}/audit`))
    .json<{ items: { type: string }[] }>()
    .items.map(({ type }) => type)

/** Worker a begins the step and loses the run. */
async function lostInStep(): Promise<Held> {
  const held = await lease('a')
  expect((await begin(held, 's1')).json()).toMatchObject({ state: 'started', attempt: 1 })
  await real.pass(120_000)
  return held
}

describe('a late result', () => {
  const doors = [
    ['its run token', ({ run_token: token }: Held) => ({ as: token, named: {} })],
    [
      'its lease token',
      ({ lease: { token } }: Held) => ({ as: adminToken, named: { lease_token: token } }),
    ],
  ] as const

  test.each(doors)('by %s closes its own step, and is answered 409', async (_how, door) => {
    const { as, named } = door(await lostInStep())
    const late = await step({ ...named, start_id: 's1', result: { id: 7 } }, as)
    expect(problemOf(late)).toMatchObject({ status: 409, code: 'lease_lost' })
    expect(await stored()).toEqual({ state: 'done', attempt: 1, result: { id: 7 } })
    const next = await lease('b')
    expect(next.steps).toMatchObject([{ name: 'charge', state: 'done' }])
    expect((await begin(next, 's2')).json()).toMatchObject({ state: 'done', result: { id: 7 } })
  })

  test.each(doors)('by %s changes nothing after a take-over', async (_how, door) => {
    const { as, named } = door(await lostInStep())
    const next = await lease('b')
    expect(problemOf(await begin(next, 's2')).code).toBe('step_in_doubt')
    const taken = await step({ take_over: true, start_id: 's2' }, next.run_token)
    expect(taken.json()).toMatchObject({ state: 'started', attempt: 2 })
    const late = await step({ ...named, start_id: 's1', result: 1 }, as)
    expect(problemOf(late)).toMatchObject({ status: 409, code: 'lease_lost' })
    expect(await stored()).toEqual({ state: 'started', attempt: 2, result: null })
    expect(await auditTypes()).toContain('step.late')
  })

  test('closes its step when the run was cancelled, and other calls stay 401', async () => {
    const held = await lease('a')
    await begin(held, 's1')
    await call('POST', `/v1/runs/${runId}/cancel`)
    const late = await step({ start_id: 's1', result: 1 }, held.run_token)
    expect(problemOf(late)).toMatchObject({ status: 409, code: 'cancelled' })
    expect(await stored()).toMatchObject({ state: 'done', result: 1 })
    const others = [
      call('GET', `/v1/runs/${runId}`, undefined, held.run_token),
      call('GET', `/v1/runs/${runId}/steps/charge`, undefined, held.run_token),
      call('POST', `/v1/runs/${runId}/heartbeat`, {}, held.run_token),
    ]
    for (const other of await Promise.all(others)) expect(problemOf(other).status).toBe(401)
  })

  test('lets a held run go on', async () => {
    const first = await lostInStep()
    const second = await lease('b')
    await step({ held: true, start_id: 's2' }, second.run_token)
    expect(problemOf(await step({ start_id: 's1', result: 1 }, first.run_token)).status).toBe(409)
    const third = await lease('c')
    expect((await begin(third, 's3')).json()).toMatchObject({ state: 'done', result: 1 })
  })
})

test('a holder whose start id is wrong learns that nobody else began its step', async () => {
  const held = await lease('a')
  await begin(held, 'q')
  const wrong = problemOf(await step({ start_id: 'q3', result: 1 }, held.run_token))
  expect(wrong).toMatchObject({ status: 409, code: 'step_late' })
  expect(wrong.detail).toMatch(/^you began the step charge with another start_id; /)
  expect(wrong.hint).toContain('the start_id with which you began it')
  const { body: why } = await call('GET', `/v1/runs/${runId}/why`)
  expect(why).toContain('its worker had begun the step with another start_id')
  expect((await step({ start_id: 'q', result: 1 }, held.run_token)).json()).toMatchObject({
    state: 'done',
  })
})

test('a holder that did not begin a step learns that another worker did', async () => {
  await lostInStep()
  const held = await lease('b')
  const wrong = problemOf(await step({ start_id: 's2', result: 1 }, held.run_token))
  expect(wrong).toMatchObject({ code: 'step_late' })
  expect(wrong.detail).toMatch(/^another worker began the step charge, not you; /)
})

test.each(['cancel', 'complete'])(
  'after the end of the run (%s) its token cannot act on a step, as anywhere else',
  async (end) => {
    const held = await lease('a')
    await begin(held, 's1')
    const ended = await call('POST', `/v1/runs/${runId}/${end}`, {
      ...(end === 'complete' && { outcome: 'succeeded', lease_token: held.lease.token }),
    })
    expect(ended.statusCode).toBe(200)
    for (const body of [
      { state: 'started' },
      { take_over: true },
      { confirmed: true, result: 1 },
      { held: true },
    ]) {
      const answer = await step({ ...body, start_id: 's2' }, held.run_token)
      expect(problemOf(answer)).toMatchObject({ status: 401, detail: 'The run has ended.' })
    }
    const late = await step({ start_id: 's1', result: 1 }, held.run_token)
    expect(problemOf(late)).toMatchObject({ status: 409 })
  },
)

test('a holder that lost the run cannot begin, take over, confirm or hold a step', async () => {
  const { run_token: old } = await lostInStep()
  for (const body of [
    { state: 'started' },
    { take_over: true },
    { confirmed: true, result: 1 },
    { held: true },
  ]) {
    const answer = await step({ ...body, start_id: 's1' }, old)
    expect([body, problemOf(answer).code]).toEqual([body, 'lease_lost'])
  }
  expect(await stored()).toEqual({ state: 'started', attempt: 1, result: null })
})

test('the repeat of a hold whose answer was lost is answered the same', async () => {
  await lostInStep()
  const second = await lease('b')
  const hold = () => step({ held: true, start_id: 's2' }, second.run_token)
  expect((await hold()).json()).toMatchObject({ state: 'held' })
  expect((await hold()).json()).toMatchObject({ state: 'held' })
})

test('a run token that the run never had is 401', async () => {
  await lostInStep()
  const wrong = await step({ start_id: 's1', result: 1 }, `hfr_${runId}.guess`)
  expect(problemOf(wrong)).toMatchObject({ status: 401 })
  expect(await stored()).toMatchObject({ state: 'started' })
})

test('a holder whose token was revoked cannot even send a late result', async () => {
  const made = await call('POST', '/v1/tokens', { scope: 'worker' })
  const { id, token } = made.json<{ id: string; token: string }>()
  const held = await lease('a', token)
  await begin(held, 's1')
  await call('DELETE', `/v1/tokens/${id}`)
  const late = () => step({ start_id: 's1', result: 1 }, held.run_token)
  expect(problemOf(await late()).status).toBe(401)
  await real.pass(1000)
  await lease('b')
  expect(problemOf(await late()).status).toBe(401)
  const named = { lease_token: held.lease.token, start_id: 's1', result: 1 }
  expect(problemOf(await step(named, adminToken)).code).toBe('lease_lost')
  expect(await stored()).toMatchObject({ state: 'started' })
})
