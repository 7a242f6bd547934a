/**
 * Goal: a token limited to repositories or types reaches nothing else, on any endpoint. A token
 * that has ended reaches nothing, and the requests that it keeps open end with it.
 */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TokenLimits } from '../../src/domain/token-limits.ts'
import { hashSecret, scopedToken } from '../../src/secrets.ts'
import { theDeliveryId } from './fake-outbox.ts'
import { startedAt, theRunId } from './fakes.ts'
import {
  aClaim,
  adminToken,
  ask,
  bearer,
  problemOf,
  serverUnderTest,
  theRunToken,
  tokenOf,
  type ServerUnderTest,
} from './server-under-test.ts'

let it: ServerUnderTest
beforeEach(() => {
  it = serverUnderTest()
})
afterEach(async () => {
  it.stop()
  await it.server.close()
})

const own = { pattern: 'acme/widgets', repositoryId: 'rep_1' }
const foreign = { pattern: 'acme/other', repositoryId: 'rep_2' }

function token(
  scope: string,
  limits: Partial<TokenLimits>,
  expiresAt: number | null = null,
): string {
  const id = `tok_limited${it.fakes.tokens.size}`
  it.fakes.tokens.set(id, {
    id,
    scope,
    name: null,
    userId: null,
    limits: { repositories: null, types: null, ...limits },
    createdAt: startedAt,
    expiresAt,
    lastUsedAt: null,
    secretHash: hashSecret('secret'),
  })
  return scopedToken(id, 'secret')
}

const call = (method: 'GET' | 'POST' | 'PUT', url: string, as: string, payload?: object) =>
  ask(it.server, { method, url, headers: bearer(as), ...(payload && { payload }) })

describe('a limited token', () => {
  test.each([
    ['another repository', { repositories: [foreign] }],
    ['another type', { types: ['docs'] }],
    ['another owner', { repositories: [{ pattern: 'acm/*', repositoryId: null }] }],
  ])('for %s reaches no run, delivery or claim', async (_what, limits) => {
    it.fakes.subjectScope = 'rep_1'
    const [worker, operator] = [token('worker', limits), token('operator', limits)]
    const lease = { lease_token: 'hfl_x' }
    const requests = [
      call('GET', `/v1/runs/${theRunId}`, worker),
      call('GET', `/v1/runs/${theRunId}/audit`, operator),
      call('GET', `/v1/runs/${theRunId}/why`, operator),
      call('POST', `/v1/runs/${theRunId}/heartbeat`, worker, lease),
      call('POST', `/v1/runs/${theRunId}/complete`, worker, { ...lease, outcome: 'succeeded' }),
      call('POST', `/v1/runs/${theRunId}/release`, worker, lease),
      call('POST', `/v1/runs/${theRunId}/status`, operator, { status: 'x' }),
      call('POST', `/v1/runs/${theRunId}/cancel`, operator),
      call('POST', `/v1/runs/${theRunId}/rerun`, operator),
      call('PUT', `/v1/runs/${theRunId}/deliveries/x`, operator, {
        channel: 'github-comment',
        body: 'x',
      }),
      call('PUT', `/v1/runs/${theRunId}/steps/x`, worker, { ...lease, start_id: 's', result: 1 }),
      call('GET', `/v1/runs/${theRunId}/steps`, worker),
      call('GET', `/v1/runs/${theRunId}/steps/charge`, worker),
      call('POST', `/v1/runs/${theRunId}/steps/charge/repeat`, operator),
      call('GET', `/v1/deliveries/${theDeliveryId}`, worker),
      call('POST', `/v1/deliveries/${theDeliveryId}/retry`, operator),
      call('POST', `/v1/deliveries/${theDeliveryId}/confirm`, operator),
      call('POST', '/v1/runs/lease', worker, { worker: 'w', run_id: theRunId }),
      call('POST', '/v1/runs', worker, aClaim),
    ]
    for (const answer of await Promise.all(requests)) {
      expect(problemOf(answer)).toMatchObject({ status: 403, code: 'outside_token_limits' })
    }
    expect(it.fakes.changes).toEqual([])
  })

  test.each([
    [own.pattern, own.pattern],
    ['acme/*', 'OWNER/NAME'],
  ])('for the repository %s is told that a job names none', async (pattern, named) => {
    const limits = { repositories: [{ ...own, pattern }], types: ['docs'] }
    const job = { type: 'docs', key: 'site' }
    const { detail, hint } = problemOf(await call('POST', '/v1/runs', token('worker', limits), job))
    expect(`${detail} ${String(hint)}`).toBe(
      `This token is limited to the repository ${pattern}, and this job names no repository. ` +
        `Name it: --repo ${named} (over HTTP: "repo": "${named}").`,
    )
  })

  test('is refused before its body is read', async () => {
    it.fakes.subjectScope = 'rep_1'
    const worker = token('worker', { repositories: [foreign] })
    const answer = await call('POST', `/v1/runs/${theRunId}/complete`, worker, { outcome: 7 })
    expect(problemOf(answer)).toMatchObject({ status: 403, code: 'outside_token_limits' })
  })

  test('reaches what is within its limits, which also apply to lists and leases', async () => {
    it.fakes.subjectScope = 'rep_1'
    const limits = { repositories: [own], types: ['review'] }
    const worker = token('worker', limits)
    expect((await call('GET', `/v1/runs/${theRunId}`, worker)).statusCode).toBe(200)
    expect((await call('GET', '/v1/runs', worker)).statusCode).toBe(200)
    expect((await call('GET', '/v1/deliveries', worker)).statusCode).toBe(200)
    expect((await call('POST', '/v1/runs', worker, aClaim)).statusCode).toBe(201)
    expect((await call('POST', '/v1/runs/lease', worker, { worker: 'w' })).statusCode).toBe(200)
    const token_ = { id: expect.any(String) as string, until: null }
    expect(it.fakes.changes.map(({ request: asked }) => asked)).toMatchObject([
      { token: token_ },
      { token: token_, within: limits },
    ])
    expect(it.fakes.filters).toMatchObject([{ within: limits }, { within: limits }])
  })

  test.each([
    ['acme/widgets', { repositories: [own] }],
    ['a name of its pattern', { repositories: [{ pattern: 'acme/*', repositoryId: null }] }],
  ])('for %s does not reach another repository by its id', async (_what, limits) => {
    const worker = token('worker', limits)
    const claim = (repoId: number, repo: string) =>
      call('POST', '/v1/runs', worker, { ...aClaim, repo, repo_id: repoId })
    it.fakes.repositoryGithubId = 7
    const foreignId = problemOf(await claim(8, 'acme/widgets'))
    expect(foreignId).toMatchObject({ status: 403, code: 'outside_token_limits' })
    expect(it.fakes.changes).toEqual([])
    expect((await claim(7, 'acme/widgets')).statusCode).toBe(201)
    it.fakes.repositoryGithubId = null
    expect((await claim(8, 'acme/widgets')).statusCode).toBe(201)
    expect(it.fakes.changes.map(({ request: asked }) => asked)).toMatchObject([
      { repoId: 7 },
      { repoId: undefined },
    ])
  })

  test('is refused where everything is shown, whatever its scope', async () => {
    await it.server.ready()
    for (const limits of [{ repositories: [own] }, { types: ['review'] }]) {
      const operator = token('operator', limits)
      const open = new Set<string>()
      for (const { method, url, access } of it.server.endpoints) {
        if (access === 'public' || access === undefined || !access.includes('operator')) continue
        if (method === 'HEAD' || url.includes(':id')) continue
        const answer = await call(method as 'GET', url, operator)
        if (answer.statusCode !== 403) open.add(`${method} ${url}`)
      }
      expect([...open].toSorted()).toEqual([
        ...['GET /docs', 'GET /openapi.json', 'GET /v1/deliveries', 'GET /v1/runs'],
      ])
    }
    for (const id of ['inb_0000000001abcdefghijkmnpqr', 'x']) {
      const answer = await call('GET', `/v1/inbox/${id}`, token('read', { types: ['review'] }))
      expect(problemOf(answer).code).toBe('outside_token_limits')
    }
  })

  test.each([
    [{ scope: 'admin', repos: ['acme/*'] }, 'repos'],
    [{ scope: 'bot:telegram', types: ['review'] }, 'types'],
    [{ scope: 'worker', repos: ['acme'] }, 'repos.0'],
    [{ scope: 'worker', repos: ['*/*'] }, 'repos.0'],
    [{ scope: 'worker', repos: [] }, 'repos'],
    [{ scope: 'worker', types: ['Review'] }, 'types.0'],
    [{ scope: 'worker', expires_at: 'tomorrow' }, 'expires_at'],
  ])('cannot be created from %j', async (payload, field) => {
    const answer = await ask(it.server, { method: 'POST', url: '/v1/tokens', payload })
    expect([400, 422]).toContain(answer.statusCode)
    expect(problemOf(answer).errors?.[0]?.field).toBe(field)
  })

  test('is created and listed with its limits', async () => {
    const payload = {
      scope: 'worker',
      repos: ['Acme/*', 'acme/app'],
      types: ['review'],
      expires_at: '2030-01-01T00:00:00Z',
    }
    await ask(it.server, { method: 'POST', url: '/v1/tokens', payload })
    expect(it.fakes.changes[0]?.request).toMatchObject({
      repos: ['acme/*', 'acme/app'],
      types: ['review'],
      expiresAt: Date.UTC(2030, 0),
    })
    token('worker', { repositories: [own], types: ['review'] }, startedAt + 5)
    const { items } = (await ask(it.server, { method: 'GET', url: '/v1/tokens' })).json<{
      items: object[]
    }>()
    expect(items.at(-1)).toMatchObject({
      repos: ['acme/widgets'],
      types: ['review'],
      expires_at: new Date(startedAt + 5).toISOString(),
      last_used_at: null,
    })
  })
})

describe('a token that has ended', () => {
  test('is 401, and so is a run token obtained with it', async () => {
    const answer = await call('GET', '/v1/runs', token('read', {}, startedAt))
    expect(problemOf(answer)).toMatchObject({ status: 401, detail: 'This token has expired.' })
    expect((await call('GET', '/v1/runs', token('read', {}, startedAt + 1))).statusCode).toBe(200)
    for (const tokenUntil of [0, startedAt]) {
      it.fakes.run = { ...it.fakes.run, tokenId: 'tok_gone', tokenUntil }
      expect((await call('GET', `/v1/runs/${theRunId}`, theRunToken)).statusCode).toBe(401)
    }
    it.fakes.run = { ...it.fakes.run, tokenUntil: startedAt + 1 }
    expect((await call('GET', `/v1/runs/${theRunId}`, theRunToken)).statusCode).toBe(200)
  })

  test('is noted as used at most once a minute', async () => {
    await call('GET', '/v1/runs', tokenOf('read'))
    await call('GET', '/v1/runs', tokenOf('read'))
    await call('GET', '/v1/runs', token('read', {}, startedAt))
    expect(it.fakes.touched).toEqual(['tok_read'])
  })

  test.each([
    ['a stream', 'GET', '/v1/audit/stream', 'read', null],
    ['a wait for work', 'POST', '/v1/runs/lease', 'worker', { worker: 'idle', wait_ms: 60_000 }],
    [
      'a heartbeat',
      'POST',
      `/v1/runs/${theRunId}/heartbeat`,
      'worker',
      { lease_token: 'hfl_x', wait_ms: 60_000 },
    ],
  ] as const)('ends %s that it keeps open', async (_what, method, path, scope, body) => {
    it.fakes.holds = true
    await it.server.listen({ port: 0, host: '127.0.0.1' })
    const { port } = it.server.server.address() as AddressInfo
    const headers = { ...bearer(tokenOf(scope)), 'content-type': 'application/json' }
    const sent = request({ port, host: '127.0.0.1', method, path, headers })
    sent.end(body === null ? undefined : JSON.stringify(body))
    await it.fakes.holding.promise
    const other = await ask(it.server, { method: 'DELETE', url: '/v1/tokens/tok_operator' })
    expect(other.statusCode).toBe(204)
    await ask(it.server, {
      method: 'DELETE',
      url: `/v1/tokens/tok_${scope}`,
      headers: bearer(adminToken),
    })
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    await text(answer).catch(() => 'cut off')
    expect(answer.statusCode).toBe(method === 'GET' ? 200 : 401)
  })
})

describe('a run that does not exist, asked for with a limited token', () => {
  test.each([
    ['POST', '/v1/runs/run_nope/heartbeat', { lease_token: 5 }, 400, 'invalid_request'],
    ['POST', '/v1/runs/run_nope/heartbeat', { lease_token: 'hfl_x' }, 404, 'run_not_found'],
    ['GET', '/v1/runs/run_nope/audit?limit=x', undefined, 400, 'invalid_request'],
    ['GET', '/v1/runs/run_nope', undefined, 404, 'run_not_found'],
    ['GET', '/v1/runs/a%20b', undefined, 400, 'invalid_request'],
  ] as const)('%s %s %j is answered %d', async (method, url, payload, status, code) => {
    const worker = token('worker', { repositories: [own] })
    const answer = await call(method, url, worker, payload)
    expect([answer.statusCode, problemOf(answer).code]).toEqual([status, code])
  })
})
