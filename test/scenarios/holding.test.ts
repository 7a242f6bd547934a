/**
 * Goal: holders and workers over HTTP: long-polls that answer early, also from another server
 * process, run tokens that belong to their lease, and callers that die.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { at, newPullRequest, type Client } from './client.ts'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

const longMs = 25_000

describe.each(databases)('holding over HTTP on $name', ({ name, makeData }) => {
  let serverData: ServerData
  let server: Server
  /** A second server on the same database if there can be one, otherwise the first. */
  let beside: Server
  let admin: Client
  beforeAll(async () => {
    serverData = await makeData()
    server = await Server.start(serverData)
    beside = name === 'PostgreSQL' ? await Server.start(serverData) : server
    admin = server.admin
  }, 60_000)
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
    if (beside !== server) expect(await beside.stop()).toBe(0)
    await serverData.remove()
  })

  describe('long-polls', () => {
    const doors = () => [server, beside].map((each) => each.admin)

    it('a heartbeat answers early when the run is superseded, by whichever server', async () => {
      for (const other of doors()) {
        const pr = newPullRequest()
        const held = (await admin.claim(pr('a', { event_at: at(1) }))).body
        const waiting = admin.heartbeat(held, { wait_ms: longMs })
        await other.claim(pr('b', { event_at: at(2) }))
        expect(await waiting).toMatchObject({ status: 409, body: { code: 'superseded' } })
      }
    })

    it('a heartbeat answers early when the run is cancelled', async () => {
      for (const other of doors()) {
        const held = (await admin.claim(newPullRequest()('a'))).body
        const waiting = admin.heartbeat(held, { wait_ms: longMs })
        await other.post(`/v1/runs/${held.run.id}/cancel`)
        expect(await waiting).toMatchObject({ status: 409, body: { code: 'cancelled' } })
      }
    })

    it('a worker that waits gets a run that is claimed without a lease', async () => {
      for (const [n, other] of doors().entries()) {
        const type = `waited-${n}`
        const waiting = admin.post('/v1/runs/lease', {
          worker: 'w',
          types: [type],
          wait_ms: longMs,
        })
        const claim = newPullRequest()('a', { type, lease: false })
        const claimed = await other.claim(claim)
        expect(claimed).toMatchObject({ status: 201, body: { lease: null, run_token: null } })
        const leased = await waiting
        expect(leased).toMatchObject({ status: 200, body: { run: { id: claimed.body.run.id } } })
        expect((await admin.complete(leased.body)).status).toBe(200)
      }
    })

    it('of two workers that wait for one run, one gets it', async () => {
      const type = 'contested'
      const ask = (client: Client) =>
        client.post('/v1/runs/lease', { worker: 'w', types: [type], wait_ms: 1500 })
      const waiting = Promise.all([ask(admin), ask(beside.admin)])
      await admin.claim(newPullRequest()('a', { type, lease: false }))
      const statuses = (await waiting).map(({ status }) => status)
      expect(statuses.toSorted()).toEqual([200, 204])
    })

    it('a heartbeat that waits keeps the lease meanwhile', async () => {
      const pr = newPullRequest()
      const held = (await admin.claim(pr('a', { lease_ms: 1000 }))).body
      const waiting = admin.heartbeat(held, { wait_ms: 2500 })
      const { status, body } = await waiting
      expect(status).toBe(200)
      expect(Date.parse(body.expires_at)).toBeGreaterThan(Date.parse(held.lease.expires_at) + 1000)
      expect((await admin.run(held.run.id)).attempt).toBe(1)
    })
  })

  describe('a run token', () => {
    it('does what its holder may do, but only for its own run', async () => {
      const held = (await admin.claim(newPullRequest()('a'))).body
      const other = (await admin.claim(newPullRequest()('a'))).body
      const child = server.as(held.run_token)
      expect((await child.get(`/v1/runs/${held.run.id}`)).status).toBe(200)
      expect((await child.post(`/v1/runs/${held.run.id}/heartbeat`)).status).toBe(200)
      expect((await child.get(`/v1/runs/${other.run.id}`)).status).toBe(403)
      expect((await child.get('/v1/runs')).status).toBe(403)
      expect((await child.post(`/v1/runs/${held.run.id}/cancel`)).status).toBe(403)
    })

    it('ends with its run, except to repeat its own completion', async () => {
      const held = (await admin.claim(newPullRequest()('a'))).body
      const child = server.as(held.run_token)
      const complete = () =>
        child.post(`/v1/runs/${held.run.id}/complete`, { outcome: 'succeeded', summary: 'done' })
      const first = await complete()
      expect(first.status).toBe(200)
      const again = await complete()
      expect(again).toMatchObject({ status: 200, body: first.body })
      const beat = await child.post(`/v1/runs/${held.run.id}/heartbeat`)
      expect(beat.status).toBe(401)
      expect(beat.headers.get('www-authenticate')).toBe('Bearer')
    })

    it('of a superseded run gets that answer, whatever it asks', async () => {
      const pr = newPullRequest()
      const held = (await admin.claim(pr('a', { event_at: at(1) }))).body
      await admin.claim(pr('b', { event_at: at(2) }))
      const child = server.as(held.run_token)
      for (const verb of ['heartbeat', 'release']) {
        const answer = await child.post(`/v1/runs/${held.run.id}/${verb}`)
        expect(answer).toMatchObject({ status: 409, body: { code: 'superseded' } })
      }
      const late = await child.post(`/v1/runs/${held.run.id}/complete`, { outcome: 'succeeded' })
      expect(late).toMatchObject({ status: 409, body: { code: 'superseded' } })
    })

    it('whose run has another holder gets lease_lost', async () => {
      const type = 'handed-over'
      const pr = newPullRequest()
      const held = (await admin.claim(pr('a', { type }))).body
      await admin.post(`/v1/runs/${held.run.id}/release`, { lease_token: held.lease.token })
      await admin.post('/v1/runs/lease', { worker: 'w', types: [type] })
      const child = server.as(held.run_token)
      const beat = await child.post(`/v1/runs/${held.run.id}/heartbeat`)
      expect(beat).toMatchObject({ status: 409, body: { code: 'lease_lost' } })
    })

    it('of a cancelled run is not valid any more, not even to complete', async () => {
      const held = (await admin.claim(newPullRequest()('a'))).body
      await admin.post(`/v1/runs/${held.run.id}/cancel`)
      const child = server.as(held.run_token)
      expect((await child.post(`/v1/runs/${held.run.id}/heartbeat`)).status).toBe(401)
      const late = await child.post(`/v1/runs/${held.run.id}/complete`, { outcome: 'succeeded' })
      expect(late.status).toBe(401)
    })

    it('with a wrong secret is not valid', async () => {
      const held = (await admin.claim(newPullRequest()('a'))).body
      const guess = server.as(`${held.run_token.slice(0, -4)}AAAA`)
      expect((await guess.get(`/v1/runs/${held.run.id}`)).status).toBe(401)
    })
  })

  it('a release gives the run to the next worker without counting an attempt', async () => {
    const type = 'released'
    const held = (await admin.claim(newPullRequest()('a', { type }))).body
    const release = { lease_token: held.lease.token }
    const released = await admin.post(`/v1/runs/${held.run.id}/release`, release)
    expect(released).toMatchObject({ status: 200, body: { state: 'pending', attempt: 1 } })
    const next = await admin.post('/v1/runs/lease', { worker: 'w', types: [type] })
    expect(next.body.run).toMatchObject({ id: held.run.id, attempt: 1, round: 1 })
    expect(next.body.run.fence).toBeGreaterThan(held.run.fence)
  })
})

describe.each(databases)('holders that die, on $name', ({ makeData }) => {
  let serverData: ServerData
  let server: Server
  let admin: Client
  beforeAll(async () => {
    serverData = await makeData()
    const config = `export default { runs: { quick: { run: 'remote', timeoutMs: 1000 } } }`
    writeFileSync(join(serverData.folder, 'holdfast.config.ts'), config)
    server = await Server.start(serverData, { HOLDFAST_LEASE_MS: '1000' })
    admin = server.admin
  }, 60_000)
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
    await serverData.remove()
  })

  it('a caller’s run is reclaimed by a claim once its lease is over, not before', async () => {
    const pr = newPullRequest()
    const dead = (await admin.claim(pr('a', { webhook_id: 'w1' }))).body
    expect((await admin.claim(pr('a', { webhook_id: 'w2' }))).body.reason).toBe('duplicate')
    const taken = await until(
      () => admin.claim(pr('a', { webhook_id: 'w3' })),
      ({ body }) => body.reason !== 'duplicate',
    )
    expect(taken).toMatchObject({ status: 201, body: { reason: 'reclaimed' } })
    expect(taken.body.run).toMatchObject({ id: dead.run.id, attempt: 2, round: 1 })
    const takenAt = Date.parse(taken.body.run.started_at ?? '')
    expect(takenAt).toBeGreaterThanOrEqual(Date.parse(dead.lease.expires_at))
    expect((await admin.claim(pr('a'))).body.reason).toBe('duplicate')
    const late = await admin.complete(dead)
    expect(late).toMatchObject({ status: 409, body: { code: 'lease_lost' } })
    expect((await admin.complete(taken.body)).status).toBe(200)
  })

  it('a worker’s run goes back to the next worker by itself', async () => {
    const type = 'swept'
    await admin.claim(newPullRequest()('a', { type, lease: false }))
    const ask = { worker: 'w', types: [type], wait_ms: 20_000 }
    const dead = (await admin.post('/v1/runs/lease', ask)).body
    const next = await admin.post('/v1/runs/lease', ask)
    expect(next).toMatchObject({ status: 200, body: { run: { id: dead.run.id, attempt: 2 } } })
    const beat = await admin.heartbeat(dead)
    expect(beat).toMatchObject({ status: 409, body: { code: 'lease_lost' } })
  })

  it('a live holder is never reclaimed, however long it works', async () => {
    const pr = newPullRequest()
    const held = (await admin.claim(pr('a'))).body
    const end = Date.parse(held.lease.expires_at) + 1500
    while (Date.now() < end) {
      expect((await admin.heartbeat(held, { wait_ms: 300 })).status).toBe(200)
      expect((await admin.claim(pr('a'))).body.reason).toBe('duplicate')
    }
    expect((await admin.complete(held)).body).toMatchObject({ state: 'succeeded', attempt: 1 })
  })

  it('a run that took too long has failed, and its tokens get that answer', async () => {
    const held = (await admin.claim(newPullRequest()('a', { type: 'quick', lease_ms: 60_000 })))
      .body
    const failed = await until(
      () => admin.run(held.run.id),
      ({ state }) => state !== 'running',
    )
    expect(failed).toMatchObject({ state: 'failed', error: { code: 'timeout' } })
    const beat = await admin.heartbeat(held)
    expect(beat).toMatchObject({ status: 409, body: { code: 'lease_lost' } })
    const child = server.as(held.run_token)
    expect((await child.post(`/v1/runs/${held.run.id}/heartbeat`)).status).toBe(401)
  })

  it('a late holder may still complete while no other has taken the run', async () => {
    const held = (await admin.claim(newPullRequest()('a'))).body
    await until(
      async () => Date.now(),
      (now) => now > Date.parse(held.lease.expires_at) + 500,
    )
    expect((await admin.complete(held)).body).toMatchObject({ state: 'succeeded', attempt: 1 })
  })
})
