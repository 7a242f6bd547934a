/**
 * Goal: every token reaches only what it may, and without a token nobody learns what exists.
 * Method: every endpoint of the server is called with every kind of token. What each scope may
 * reach is written here a second time, so that a mistake in a route's own declaration is found.
 */
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import { StoreUnavailableError } from '../../src/errors.ts'
import type { Endpoint } from '../../src/http/requests/endpoints.ts'
import { hashSecret, runToken, scopedToken } from '../../src/secrets.ts'
import { leaseSecret, theRun, theRunId } from './fakes.ts'
import {
  adminToken,
  aClaim,
  bearer,
  problemOf,
  scopes,
  serverUnderTest,
  theRunToken,
  tokenOf,
} from './server-under-test.ts'

let { server, fakes } = serverUnderTest()
beforeEach(async () => {
  await server.close()
  ;({ server, fakes } = serverUnderTest())
  await server.ready()
})
afterAll(() => server.close())

const readers = ['operator', 'worker', 'read'] as const
const anyone = ['operator', 'worker', 'read', 'bot:telegram'] as const

/**
 * Which scopes reach each endpoint besides the admin; `run` is the run's own token, and `signed`
 * takes no token.
 */
const reach: Readonly<Record<string, readonly string[] | 'public' | 'signed'>> = {
  'POST /v1/runs': ['worker'],
  'POST /v1/runs/lease': ['worker'],
  'POST /v1/runs/:id/heartbeat': ['worker', 'run'],
  'POST /v1/runs/:id/release': ['worker', 'run'],
  'POST /v1/runs/:id/complete': ['worker', 'run'],
  'POST /v1/runs/:id/github-token': ['worker', 'run'],
  'POST /v1/runs/:id/status': ['operator', 'worker', 'run'],
  'PUT /v1/runs/:id/deliveries/:name': ['operator', 'worker', 'run'],
  'PUT /v1/runs/:id/steps/:name': ['worker', 'run'],
  'GET /v1/runs/:id/steps': [...readers, 'run'],
  'GET /v1/runs/:id/steps/:name': [...readers, 'run'],
  'POST /v1/runs/:id/steps/:name/confirm': ['operator'],
  'POST /v1/runs/:id/steps/:name/repeat': ['operator'],
  'POST /v1/runs/:id/steps/:name/fail': ['operator'],
  'POST /v1/runs/:id/cancel': ['operator'],
  'POST /v1/runs/:id/rerun': ['operator'],
  'GET /v1/runs': readers,
  'GET /v1/runs/:id': [...readers, 'run'],
  'GET /v1/runs/:id/audit': [...readers, 'run'],
  'GET /v1/runs/:id/why': ['operator', 'read', 'run'],
  'GET /v1/audit': ['operator', 'read'],
  'GET /v1/audit/stream': ['operator', 'read'],
  'GET /v1/deliveries': readers,
  'GET /v1/deliveries/:id': readers,
  'POST /v1/deliveries/retry': ['operator'],
  'POST /v1/deliveries/:id/retry': ['operator'],
  'POST /v1/deliveries/:id/skip': ['operator'],
  'POST /v1/deliveries/:id/confirm': ['operator'],
  'GET /v1/budgets': ['operator', 'read'],
  'POST /v1/budgets/:identity/unblock': ['operator'],
  'GET /v1/inbox': ['operator', 'read'],
  'GET /v1/inbox/:id': ['operator', 'read'],
  'POST /v1/inbox/:id/replay': ['operator'],
  'POST /v1/catchup': ['operator'],
  'POST /webhooks/github': 'signed',
  'POST /v1/tokens': [],
  'GET /v1/tokens': [],
  'DELETE /v1/tokens/:id': [],
  'GET /openapi.json': anyone,
  'GET /docs': anyone,
  'GET /metrics': anyone,
  'GET /v1/doctor': ['operator', 'read'],
  'GET /v1/why': ['operator', 'read'],
  'GET /healthz': 'public',
  'GET /readyz': 'public',
}

const named = ({ method, url }: Endpoint): string => `${method.replace('HEAD', 'GET')} ${url}`

const call = (endpoint: Endpoint, token: string | null, id = theRunId) =>
  server.inject({
    method: endpoint.method as 'GET',
    url: endpoint.url.replace(':identity', 'github:user').replace(':id', id),
    headers: token === null ? {} : bearer(token),
  })

describe('every endpoint', () => {
  test('is listed here with the scopes that reach it', () => {
    expect([...new Set(server.endpoints.map(named))].sort()).toEqual(Object.keys(reach).sort())
  })

  test('answers 401 without a token or with a wrong one, and reads nothing', async () => {
    const wrong = [
      null,
      'guess',
      `${adminToken}x`,
      scopedToken('tok_none', 'secret'),
      scopedToken('tok_worker', 'wrong'),
      runToken(theRunId, 'wrong'),
      runToken('run_none', leaseSecret),
    ]
    for (const endpoint of server.endpoints) {
      const who = reach[named(endpoint)]
      if (who === 'public' || who === 'signed') continue
      for (const token of wrong) {
        const answer = await call(endpoint, token)
        expect([named(endpoint), answer.statusCode]).toEqual([named(endpoint), 401])
        expect(answer.headers['www-authenticate']).toBe('Bearer')
        if (endpoint.method !== 'HEAD') expect(problemOf(answer).code).toBe('unauthorized')
      }
    }
    expect(fakes.changes).toEqual([])
  })

  test.each([...scopes, 'run'])('is reached by the scope %s only if it may be', async (scope) => {
    const token = scope === 'run' ? theRunToken : tokenOf(scope as (typeof scopes)[number])
    for (const endpoint of server.endpoints) {
      const allowed = reach[named(endpoint)]
      if (allowed === 'signed') continue
      const reached = allowed === 'public' || scope === 'admin' || allowed?.includes(scope)
      const { statusCode } = await call(endpoint, token)
      expect([named(endpoint), statusCode === 403]).toEqual([named(endpoint), reached !== true])
      expect(statusCode).not.toBe(401)
    }
  })

  test('that takes a signature is closed to every token', async () => {
    for (const endpoint of server.endpoints) {
      if (reach[named(endpoint)] !== 'signed') continue
      for (const token of [null, adminToken, theRunToken, ...scopes.map(tokenOf)]) {
        expect(problemOf(await call(endpoint, token))).toMatchObject({
          status: 401,
          code: 'bad_signature',
        })
      }
    }
    expect(fakes.changes).toEqual([])
  })

  test('of another run is closed to a run token, even if that run does not exist', async () => {
    for (const endpoint of server.endpoints) {
      if (!endpoint.url.includes('/runs/:id')) continue
      expect((await call(endpoint, theRunToken, 'run_other')).statusCode).toBe(403)
    }
  })
})

describe('a refusal', () => {
  const refused = async (url: string, token: string, method: 'GET' | 'POST' = 'GET') =>
    problemOf(await server.inject({ method, url, headers: bearer(token) }))

  test('names the scopes that would be sufficient and the one that was sent', async () => {
    const claim = await refused('/v1/runs', tokenOf('read'), 'POST')
    expect(claim.detail).toBe(
      'This needs a token with the scope admin or worker; yours has the scope read.',
    )
    expect(claim.hint).toContain('holdfast token create')
    const audit = await refused('/v1/audit', tokenOf('bot:telegram'))
    expect(audit.detail).toContain('admin, operator or read; yours has the scope bot:telegram.')
    const tokens = await refused('/v1/tokens', theRunToken)
    expect(tokens.detail).toBe('This needs a token with the scope admin; yours is a run token.')
    const other = await refused('/v1/runs/run_other', theRunToken)
    expect(other.detail).toBe('A run token reaches only its own run.')
  })

  test('of an unknown token says where tokens come from', async () => {
    expect((await refused('/v1/runs', 'guess')).hint).toMatch(/admin-token.*holdfast token create/)
  })
})

test('a browser at the root is redirected to the reference, all others get 401', async () => {
  const browser = { accept: 'text/html,application/xhtml+xml' }
  const sent = await server.inject({ url: '/?x=1', headers: browser })
  expect([sent.statusCode, sent.headers['location']]).toEqual([302, '/docs'])
  expect(problemOf(await server.inject({ url: '/' })).status).toBe(401)
  const posted = await server.inject({ method: 'POST', url: '/', headers: browser })
  expect(problemOf(posted).status).toBe(401)
})

test('a route that names no scope is closed to all but the admin', async () => {
  const { server: another } = serverUnderTest()
  another.get('/v1/forgotten', () => ({}))
  const statuses = []
  for (const token of [tokenOf('operator'), tokenOf('read'), theRunToken, tokenOf('admin')]) {
    const answer = await another.inject({ url: '/v1/forgotten', headers: bearer(token) })
    statuses.push(answer.statusCode)
  }
  expect(statuses).toEqual([403, 403, 403, 200])
  await another.close()
})

describe('before a token is known', () => {
  test('an unknown path, a wrong method and a broken request look alike', async () => {
    const requests = [
      { url: '/v1/none' },
      { url: '/v1/runs/run_none' },
      { url: '/%ff' },
      { url: '/v1/runs/%2e%2e%2f' },
      { method: 'PATCH', url: '/v1/runs' },
      { method: 'OPTIONS', url: '/v1/runs' },
      { method: 'POST', url: '/v1/runs', payload: '{', headers: { 'content-type': 'x/y' } },
      { method: 'POST', url: '/v1/runs', payload: 'x'.repeat(2_000_000) },
    ] as const
    for (const request of requests) {
      expect(problemOf(await server.inject(request)).status).toBe(401)
    }
  })

  test('the scheme may be in any case, and any other scheme is refused', async () => {
    const status = async (authorization: string) =>
      (await server.inject({ url: '/v1/runs', headers: { authorization } })).statusCode
    expect(await status(`bEARER ${adminToken}`)).toBe(200)
    expect(await status(`BEARER   ${adminToken} `)).toBe(200)
    const basic = Buffer.from(`admin:${adminToken}`).toString('base64')
    for (const other of [
      `Basic ${basic}`,
      adminToken,
      'Bearer',
      'Bearer ',
      `Bearer ${adminToken} ${adminToken}`,
      `Bearer,${adminToken}`,
      `Token ${adminToken}`,
    ]) {
      expect(await status(other)).toBe(401)
    }
  })

  test('a store that does not answer is 503, not a wrong token', async () => {
    fakes.failure = new StoreUnavailableError('store_unavailable', 'the store does not answer')
    for (const token of [tokenOf('worker'), theRunToken]) {
      const answer = await server.inject({ url: '/v1/runs', headers: bearer(token) })
      expect(problemOf(answer)).toMatchObject({ status: 503, code: 'store_unavailable' })
      expect(answer.headers['retry-after']).toBe('1')
    }
  })
})

describe('with a token', () => {
  test('an unknown path is 404 and a wrong method 405 with what is allowed', async () => {
    const ask = (method: string, url: string) =>
      server.inject({ method: method as 'GET', url, headers: bearer(tokenOf('read')) })
    expect(problemOf(await ask('GET', '/v1/none'))).toMatchObject({
      status: 404,
      code: 'not_found',
    })
    expect(problemOf(await ask('GET', '/v1/runs/x/none'))).toMatchObject({ status: 404 })
    const hintAt = async (url: string) => problemOf(await ask('GET', url)).hint
    expect(await hintAt('/v1/none')).toBe('All paths are at /docs.')
    expect(await hintAt('/v1/rnus?x')).toBe('Did you mean /v1/runs? All paths are at /docs.')
    expect(await hintAt('/runs')).toMatch(/^Did you mean \/v1\/runs\? /)
    expect(await hintAt('/v1/runs/run_1/canel')).toMatch(
      /^Did you mean \/v1\/runs\/{id}\/cancel\? /,
    )
    for (const [method, url, allow] of [
      ['DELETE', '/v1/runs', 'POST, GET, HEAD'],
      ['GET', '/v1/runs/lease', 'POST'],
      ['PUT', `/v1/runs/${theRunId}`, 'GET, HEAD'],
      ['GET', `/v1/runs/${theRunId}/cancel`, 'POST'],
      ['OPTIONS', '/v1/tokens', 'POST, GET, HEAD'],
      ['PROPFIND', '/openapi.json', 'GET, HEAD'],
    ] as const) {
      const answer = await ask(method, url)
      expect(problemOf(answer)).toMatchObject({ status: 405, code: 'method_not_allowed' })
      expect(answer.headers['allow']?.split(', ').sort()).toEqual(allow.split(', ').sort())
    }
  })
})

describe('a run token', () => {
  const complete = `/v1/runs/${theRunId}/complete`
  const ask = async (run: Partial<Run>, method: 'GET' | 'POST' = 'GET', url = '') => {
    fakes.run = { ...theRun, ...run }
    const answer = await server.inject({
      method,
      url: url || `/v1/runs/${theRunId}`,
      headers: bearer(theRunToken),
      ...(method === 'POST' ? { payload: { outcome: 'succeeded' } } : {}),
    })
    return answer.statusCode === 200 ? 200 : [answer.statusCode, problemOf(answer).code]
  }
  const past = { leaseHash: hashSecret('another'), pastLeaseHashes: `x ${theRun.leaseHash}` }

  test('is valid while its lease is the newest, expired or not', async () => {
    expect(await ask({})).toBe(200)
    expect(await ask({ leaseExpiresAt: 0 })).toBe(200)
    expect(await ask({ state: 'waiting' })).toBe(200)
  })

  test('gets the answer that the run is superseded or has another holder', async () => {
    expect(await ask({ state: 'superseded' })).toEqual([409, 'superseded'])
    expect(await ask({ ...past })).toEqual([409, 'lease_lost'])
    expect(await ask({ ...past, leaseHash: null, state: 'pending' })).toEqual([409, 'lease_lost'])
    expect(await ask({ ...past }, 'POST', complete)).toEqual([409, 'lease_lost'])
  })

  test('ends with its run, except to repeat its own completion', async () => {
    for (const state of ['succeeded', 'failed', 'cancelled', 'skipped'] as const) {
      expect(await ask({ state })).toEqual([401, 'unauthorized'])
      expect(await ask({ state }, 'POST', complete)).toEqual([401, 'unauthorized'])
      const own = { state, completedLeaseHash: theRun.leaseHash }
      expect(await ask(own, 'POST', complete)).toBe(200)
      expect(await ask(own)).toEqual([401, 'unauthorized'])
      const release = `/v1/runs/${theRunId}/release`
      expect(await ask({ state }, 'POST', release)).toEqual([401, 'unauthorized'])
    }
    const nextRound = { ...past, completedLeaseHash: theRun.leaseHash }
    expect(await ask(nextRound, 'POST', complete)).toBe(200)
    expect(await ask(nextRound)).toEqual([409, 'lease_lost'])
  })

  test('with a lease that the run never had is 401, whatever the run’s state', async () => {
    const other = { leaseHash: hashSecret('another') }
    for (const state of ['running', 'superseded', 'succeeded'] as const) {
      expect(await ask({ ...other, state }, 'POST', complete)).toEqual([401, 'unauthorized'])
    }
  })
})

test('a body is not read if the scope is insufficient', async () => {
  const answer = await server.inject({
    method: 'POST',
    url: '/v1/runs',
    headers: { ...bearer(tokenOf('read')), 'content-type': 'text/plain' },
    payload: JSON.stringify(aClaim),
  })
  expect(problemOf(answer)).toMatchObject({ status: 403, code: 'forbidden' })
})
