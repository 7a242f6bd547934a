/**
 * Goal: HTTP and the services agree: the whole life of a run by HTTP alone.
 * Method: the real run service over a store in memory; only time is faked, and does not pass.
 */
import { defaultRights, githubDeclarations } from '../../src/channels/github-channels.ts'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { unannounced } from '../../src/domain/run.ts'
import { createAuditFeed } from '../../src/audit/feed.ts'
import type { App } from '../../src/http/app.ts'
import type { RunView } from '../../src/contract.ts'
import { FailedAccess } from '../../src/http/access/failed-access.ts'
import { TokenWatch } from '../../src/http/access/token-watch.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { openIntake } from '../../src/intake/open-intake.ts'
import { noMetrics } from '../../src/metrics.ts'
import { createRuns } from '../../src/runs/create-runs.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { hashSecret } from '../../src/secrets.ts'
import { withTypeDefaults } from '../../src/settings/run-types/type-defaults.ts'
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import { startedAt, webhookSecret } from './fakes.ts'
import { adminToken, bearer, problemOf } from './server-under-test.ts'
import { seededChance } from '../seed.ts'

interface ClaimedView {
  readonly should_process: boolean
  readonly reason: string
  readonly superseded_run_keys: readonly string[]
  readonly run: RunView
  readonly lease: { readonly token: string; readonly expires_at: string } | null
  readonly run_token: string
}

let server: App
let close: () => Promise<void>

beforeEach(() => {
  const clock = { wallMs: () => startedAt, monotonicMs: () => 0 }
  const log = pino({ level: 'silent' })
  const machine = { clock, random: seededChance(), scheduler: systemScheduler }
  const store = openSqlite(
    { path: ':memory:', exclusive: true },
    { ...machine, channels: githubDeclarations },
  )
  const policyOf = (_type: string, kind: 'pull_request' | 'job') =>
    ({
      announcement: unannounced,
      onNewer: kind === 'pull_request' ? 'supersede' : 'queue',
      attempts: 3,
      timeoutMs: 3_600_000,
      pendingTimeoutMs: 3_600_000,
    }) as const
  const runs = createRuns({ ...machine, store, log, leaseMs: 60_000, policyOf, headSource: null })
  const intake = openIntake({
    ...machine,
    secrets: [webhookSecret],
    types: withTypeDefaults({}).runs,
    store,
    runs,
    github: null,
    log,
    metrics: noMetrics,
  })
  server = createHttpServer({
    checkIsOurs: async () => undefined,
    ...machine,
    runs,
    intake: intake.intake,
    store,
    metrics: noMetrics,
    metricsPage: { contentType: 'text/plain', text: async () => '' },
    auditFeed: createAuditFeed({ store, scheduler: systemScheduler, log }),
    log,
    adminTokenHash: hashSecret(adminToken),
    budgetLimits: { spacingMs: 1000, perMinute: 80, perHour: 500 },
    publishRights: () => defaultRights,
    githubTokens: { issue: () => Promise.reject(new Error('there is no GitHub')) },
    isOurHost: () => true,
    failedAccess: new FailedAccess(store, systemScheduler, log),
    trustedProxies: null,
    touchToken: () => undefined,
    tokenWatch: new TokenWatch(store, systemScheduler),
    version: '0.0.0',
    sandbox: true,
    doctor: () => Promise.resolve({ ok: true, findings: [] }),
    catchUp: () => Promise.reject(new Error('nothing to catch up with')),
  })
  close = async () => {
    await server.close()
    await intake.stop()
    await store.close()
  }
})
afterEach(() => close())

const sha = (letter: string): string => letter.repeat(40)
const claimOf = (head: string, at: number) => ({
  repo: 'acme/widgets',
  pr: 5,
  base_sha: sha('0'),
  head_sha: sha(head),
  action: 'synchronize',
  event_at: new Date(startedAt - 60_000 + at * 1000).toISOString(),
})

const post = (url: string, payload: object, token = adminToken, headers = {}) =>
  server.inject({ method: 'POST', url, payload, headers: { ...bearer(token), ...headers } })
const get = (url: string, token = adminToken) => server.inject({ url, headers: bearer(token) })

async function claim(head: string, at: number): Promise<ClaimedView> {
  return (await post('/v1/runs', claimOf(head, at))).json<ClaimedView>()
}

async function auditCount(): Promise<number> {
  return (await get('/v1/audit?limit=1000')).json<{ items: unknown[] }>().items.length
}

async function tokenFor(scope: string): Promise<{ id: string; token: string }> {
  return (await post('/v1/tokens', { scope })).json()
}

describe('a run', () => {
  test('is claimed once, renewed and completed, and its completion may be repeated', async () => {
    const first = await claim('a', 1)
    expect(first).toMatchObject({ should_process: true, reason: 'new', run: { subject: 'pr-5' } })
    expect(await claim('a', 1)).toMatchObject({ should_process: false, reason: 'duplicate' })

    const url = `/v1/runs/${first.run.id}`
    const beat = await post(`${url}/heartbeat`, { lease_ms: 90_000 }, first.run_token)
    expect(beat.json()).toEqual({ expires_at: new Date(startedAt + 90_000).toISOString() })

    const end = { outcome: 'succeeded', verdict: 'success', summary: 'fine', result: { n: [1] } }
    for (const token of [first.run_token, first.run_token]) {
      const done = await post(`${url}/complete`, end, token)
      expect([done.statusCode, done.json()]).toMatchObject([
        200,
        { state: 'succeeded', verdict: 'success', summary: 'fine', result: { n: [1] } },
      ])
    }
    const ended = await get(url, first.run_token)
    expect(ended.statusCode).toBe(401)
    expect(ended.json()).toMatchObject({ hint: expect.stringMatching(/^Stop working: /) as string })
    const history = await get(`${url}/audit`)
    const types = history.json<{ items: { type: string }[] }>().items.map(({ type }) => type)
    expect(types.sort()).toEqual(['run.claim_skipped', 'run.claimed', 'run.succeeded'])
  })

  test('is taken from its holder by a newer head', async () => {
    const old = await claim('a', 1)
    expect(await claim('b', 2)).toMatchObject({
      reason: 'superseded-prior',
      superseded_run_keys: [old.run.key],
    })
    const url = `/v1/runs/${old.run.id}/heartbeat`
    const byRunToken = await post(url, {}, old.run_token)
    expect(problemOf(byRunToken)).toMatchObject({ status: 409, code: 'superseded' })
    const byLease = await post(url, { lease_token: old.lease?.token })
    expect(problemOf(byLease)).toMatchObject({ status: 409, code: 'superseded' })
    expect(await claim('a', 1)).toMatchObject({ reason: 'stale-event', should_process: false })
  })

  test('given back is leased by another, and its old holder gets lease_lost', async () => {
    const first = await claim('a', 1)
    const url = `/v1/runs/${first.run.id}`
    expect((await post(`${url}/release`, {}, first.run_token)).json()).toMatchObject({
      state: 'pending',
    })
    const worker = await tokenFor('worker')
    const leased = await post('/v1/runs/lease', { worker: 'w', types: ['review'] }, worker.token)
    expect(leased.json()).toMatchObject({ run: { id: first.run.id, state: 'running' } })
    const none = await post('/v1/runs/lease', { worker: 'w' }, worker.token)
    expect(none.statusCode).toBe(204)
    const lost = await post(`${url}/complete`, { outcome: 'failed' }, first.run_token)
    expect(problemOf(lost)).toMatchObject({ status: 409, code: 'lease_lost' })
  })

  test('is cancelled and run again by an operator', async () => {
    const { run, lease } = await claim('a', 1)
    const operator = await tokenFor('operator')
    const cancelled = await post(`/v1/runs/${run.id}/cancel`, {}, operator.token)
    expect(cancelled.json()).toMatchObject({ state: 'cancelled' })
    const beat = await post(`/v1/runs/${run.id}/heartbeat`, { lease_token: lease?.token })
    expect(problemOf(beat)).toMatchObject({ status: 409, code: 'cancelled' })
    const rerun = await post(`/v1/runs/${run.id}/rerun`, {}, operator.token)
    expect([rerun.statusCode, rerun.json()]).toMatchObject([
      201,
      { should_process: true, run: { round: 2, state: 'pending' }, lease: null },
    ])
  })

  test('is found by each filter, page by page', async () => {
    for (const head of ['a', 'b', 'c']) await claim(head, head.charCodeAt(0) - 96)
    interface List {
      readonly items: readonly RunView[]
      readonly next_cursor: string | null
    }
    const list = async (query: string) => (await get(`/v1/runs?${query}`)).json<List>()
    expect((await list(`head_sha=${sha('B')}`)).items).toHaveLength(1)
    expect((await list('repo=ACME/Widgets&pr=5&state=superseded')).items).toHaveLength(2)
    expect((await list('type=docs')).items).toHaveLength(0)
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: List = await list(`limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.next_cursor
    }
    expect(new Set(seen).size).toBe(3)
    expect(problemOf(await get('/v1/runs?cursor=guess'))).toMatchObject({
      status: 422,
      errors: [{ field: 'cursor' }],
    })
  })

  test('of an event from the future is refused', async () => {
    const answer = await post('/v1/runs', claimOf('a', 3600))
    expect(problemOf(answer)).toMatchObject({ status: 422, errors: [{ field: 'event_at' }] })
  })
})

describe('an idempotency key', () => {
  const key = { 'idempotency-key': 'once' }

  test('answers a repeated claim with the same lease', async () => {
    const first = await post('/v1/runs', claimOf('a', 1), adminToken, key)
    const again = await post('/v1/runs', claimOf('a', 1), adminToken, key)
    expect(first.statusCode).toBe(201)
    expect([again.statusCode, again.body]).toEqual([first.statusCode, first.body])
  })

  test('is refused with another body, but free on another path or for another token', async () => {
    await post('/v1/runs', claimOf('a', 1), adminToken, key)
    const reused = await post('/v1/runs', claimOf('b', 2), adminToken, key)
    expect(problemOf(reused)).toMatchObject({ status: 422, code: 'idempotency_key_reused' })
    const worker = await post('/v1/tokens', { scope: 'worker' }, adminToken, key)
    expect(worker.statusCode).toBe(201)
    const { token } = worker.json<{ token: string }>()
    const other = await post('/v1/runs', claimOf('b', 2), token, key)
    expect(other.json()).toMatchObject({ reason: 'superseded-prior' })
  })

  test('shows a new token again to the one who asked for it', async () => {
    const ask = () => post('/v1/tokens', { scope: 'read', name: 'n' }, adminToken, key)
    const [first, again] = [await ask(), await ask()]
    expect(again.body).toBe(first.body)
    expect((await get('/v1/tokens')).json()).toMatchObject({
      items: [{ scope: 'read', name: 'n' }],
    })
  })

  test('is not used up by a request that was refused', async () => {
    expect((await post('/v1/runs', { repo: 1 }, adminToken, key)).statusCode).toBe(400)
    expect((await post('/v1/runs', claimOf('a', 1), adminToken, key)).statusCode).toBe(201)
  })
})

test('a token is valid until it is revoked', async () => {
  const { id, token } = await tokenFor('read')
  expect((await get('/v1/runs', token)).statusCode).toBe(200)
  const url = `/v1/tokens/${id}`
  const gone = await server.inject({ method: 'DELETE', url, headers: bearer(adminToken) })
  expect(gone.statusCode).toBe(204)
  expect((await get('/v1/runs', token)).statusCode).toBe(401)
})

test('a refused request leaves no trace', async () => {
  const { run, run_token: token } = await claim('a', 1)
  const before = await auditCount()
  const url = `/v1/runs/${run.id}`
  const refused = [
    await post('/v1/runs', { ...claimOf('b', 2), pr: 0 }),
    await post('/v1/runs', { ...claimOf('b', 2), extra: 1 }),
    await post('/v1/runs', { key: 'k\n', type: 'docs' }),
    await post('/v1/runs/lease', { worker: '' }),
    await post(`${url}/complete`, { outcome: 'won' }, token),
    await post(`${url}/complete`, { outcome: 'succeeded', lease_token: 'hfl_wrong' }),
    await post(`${url}/release`, { lease_token: 'guess' }),
    await post(`${url}/cancel`, { now: true }),
    await post(`${url}/rerun`, {}, token),
    await post('/v1/runs/run_none/cancel', {}),
    await post('/v1/tokens', { scope: 'root' }),
  ]
  for (const answer of refused) expect(problemOf(answer).status).toBeLessThan(500)
  expect(await auditCount()).toBe(before)
  expect((await get(url)).json()).toEqual(run)
})
