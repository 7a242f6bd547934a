/**
 * Goal: a token revoked on one server ends what it holds on another: its stream, its wait for work,
 * its lease and its run token. The run goes to the next worker.
 * Method: two real servers on one PostgreSQL database; everything is held on the one and revoked on
 * the other.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { sha } from './client.ts'
import { onPostgres, publishNothing, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

// Real servers, perhaps on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let serverData: ServerData
let here: Server
let there: Server
beforeAll(async () => {
  serverData = await onPostgres()
  publishNothing(serverData)
  here = await Server.start(serverData)
  there = await Server.start(serverData)
})
afterAll(async () => {
  await Promise.all([here.stop(), there.stop()])
  await serverData.remove()
})

async function makeToken(scope: string): Promise<{ readonly id: string; readonly token: string }> {
  const { body } = await here.admin.post('/v1/tokens', { scope })
  return body
}

const revoke = (id: string) => there.admin.call('DELETE', `/v1/tokens/${id}`)

describe('a token revoked on another server', () => {
  it('ends its stream', async () => {
    const { id, token } = await makeToken('read')
    const headers = { authorization: `Bearer ${token}` }
    const stream = await fetch(`${here.url}/v1/audit/stream`, { headers })
    expect(stream.status).toBe(200)
    const ended = stream.text()
    expect((await revoke(id)).status).toBe(204)
    expect(await ended).toContain('event: ping')
  })

  it('ends its wait for work', async () => {
    const { id, token } = await makeToken('worker')
    const wanted = { worker: 'w', types: ['unheard-of'], wait_ms: 60_000 }
    const waiting = here.as(token).post('/v1/runs/lease', wanted)
    // Only a request that has arrived can be cut off; one that has not is refused at once.
    await until(
      async () => (await there.admin.get('/v1/tokens')).body.items as never as TokenJson[],
      (all) => all.some((each) => each.id === id && each.last_used_at !== null),
    )
    await revoke(id)
    expect((await waiting).status).toBe(401)
  })

  it('ends its lease and run token, and the run waits for the next worker', async () => {
    const claim = { repo: 'acme/widgets', pr: 1, base_sha: sha('base'), head_sha: sha('head') }
    await here.admin.post('/v1/runs', { ...claim, lease: false })
    const { id, token } = await makeToken('worker')
    const asked = { worker: 'first', lease_ms: 3_600_000 }
    const { body: held } = await here.as(token).post('/v1/runs/lease', asked)
    const path = `/v1/runs/${held.run.id}`
    expect((await here.as(held.run_token).get(path)).status).toBe(200)
    await revoke(id)
    expect([401, 409]).toContain((await here.as(held.run_token).get(path)).status)
    const { token: other } = await makeToken('worker')
    const late = { lease_token: held.lease.token, outcome: 'succeeded' }
    expect(await here.as(other).post(`${path}/complete`, late)).toMatchObject({
      status: 409,
      body: { code: 'lease_lost' },
    })
    const next = await here.as(other).post('/v1/runs/lease', { worker: 'second', wait_ms: 30_000 })
    expect(next).toMatchObject({ status: 200, body: { run: { id: held.run.id, attempt: 1 } } })
  })
})

interface TokenJson {
  readonly id: string
  readonly last_used_at: string | null
}
