/**
 * Goal: nothing that was answered is lost, whether the server is asked to stop or is killed, and
 * holders do not lose their runs by its absence.
 */
import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newPullRequest, type Body } from './client.ts'
import { databases, publishNothing, type ServerData } from './server-data.ts'
import { Command, Server } from './server.ts'
import { until, untilPast } from './until.ts'

describe.each(databases)('a server that goes and comes back on $name', ({ name, makeData }) => {
  let serverData: ServerData
  let server: Server
  const start = async (env: Readonly<Record<string, string>> = {}): Promise<void> => {
    server = await Server.start(serverData, env)
  }
  beforeEach(async () => {
    serverData = await makeData()
  })
  afterEach(async () => {
    await server.kill()
    await serverData.remove()
  })

  it('a hundred completions, then a kill: all are stored, and no file is left over', async () => {
    await start()
    const numbers = Array.from({ length: 100 }, (_, n) => n)
    const held = await Promise.all(
      numbers.map(async (n) => (await server.admin.claim(newPullRequest()(`head ${n}`))).body),
    )
    const answers = await Promise.all(
      held.map((each, n) =>
        server.admin.complete(each, 'succeeded', { summary: `summary ${n}`, result: { n } }),
      ),
    )
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    await server.kill()
    await start()
    const runs = await Promise.all(held.map(({ run }) => server.admin.run(run.id)))
    for (const [n, run] of runs.entries()) {
      expect(run).toMatchObject({ state: 'succeeded', summary: `summary ${n}`, result: { n } })
    }
    const files = readdirSync(serverData.folder).filter(
      (file) => !/^(holdfast\.db|admin|webhook)/.test(file),
    )
    expect(files).toEqual([])
  }, 60_000)

  it('a killed server’s runs are all kept, and their holders get one lease more', async () => {
    await start({ HOLDFAST_LEASE_MS: '2000' })
    const [alive, dead] = [newPullRequest(), newPullRequest()]
    const held = (await server.admin.claim(alive('a'))).body
    const lost = (await server.admin.claim(dead('a'))).body
    await server.kill()
    await untilPast(lost.lease.expires_at)
    await start({ HOLDFAST_LEASE_MS: '2000' })
    const backAt = Date.now()
    expect((await server.admin.claim(dead('a'))).body.reason).toBe('duplicate')
    expect((await server.admin.heartbeat(held)).status).toBe(200)
    expect((await server.admin.complete(held)).body).toMatchObject({ state: 'succeeded' })
    const taken = await until(
      () => server.admin.claim(dead('a')),
      ({ body }) => body.reason !== 'duplicate',
    )
    expect(taken.body).toMatchObject({ reason: 'reclaimed', run: { attempt: 2 } })
    expect(Date.parse(taken.body.run.started_at ?? '')).toBeGreaterThan(backAt + 1000)
  }, 60_000)

  it('a server asked to stop under load loses nothing it accepted', async () => {
    await start()
    const ask = { worker: 'w', types: ['nothing'], wait_ms: 30_000 }
    const waiting = server.admin.post('/v1/runs/lease', ask)
    // This answer came later on another connection, so the server has the waiting request by now.
    await server.admin.get('/v1/runs')
    const firstAnswer = Promise.withResolvers<void>()
    const sent = Array.from({ length: 300 }, async (_, n) => {
      try {
        const answer = await server.admin.claim(newPullRequest()(`load ${n}`))
        firstAnswer.resolve()
        return answer
      } catch {
        return null
      }
    })
    await firstAnswer.promise
    const code = server.stop()
    const answers = (await Promise.all(sent)).filter((answer) => answer !== null)
    expect((await waiting).status).toBe(204)
    expect(await code).toBe(0)
    expect(answers.every(({ status }) => status === 201)).toBe(true)
    await start()
    const { body } = await server.admin.get('/v1/runs?limit=1000')
    const stored = body.items.map(({ id }) => id).toSorted()
    const answered = answers.map((answer) => answer.body.run.id).toSorted()
    expect(stored).toEqual(answered)
  }, 60_000)

  it('an Idempotency-Key answers the same across a restart', async () => {
    await start()
    const claim = newPullRequest()('a')
    const headers = { 'idempotency-key': 'one-claim' }
    const first = await server.admin.post('/v1/runs', claim, headers)
    expect(first.status).toBe(201)
    await server.kill()
    await start()
    const again = await server.admin.post('/v1/runs', claim, headers)
    expect(again).toMatchObject({ status: 201, body: first.body })
    const other = await server.admin.post('/v1/runs', newPullRequest()('a'), headers)
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
    expect((await server.admin.complete(again.body)).status).toBe(200)
    const repeated = await server.admin.post('/v1/runs', claim, headers)
    expect(repeated).toMatchObject({ status: 200, body: { reason: 'duplicate', lease: null } })
  }, 60_000)

  it('a token that the command line creates beside it works at once', async () => {
    await start()
    const made = await new Command(serverData, ['token', 'create', '--scope', 'read']).ended
    expect(made.code).toBe(0)
    const reader = server.as(made.stdout.trim())
    expect((await reader.get('/v1/runs')).status).toBe(200)
    expect((await reader.claim(newPullRequest()('a'))).status).toBe(403)
  }, 60_000)

  it('a second server is accepted on PostgreSQL and refused on a SQLite file', async () => {
    await start()
    if (name === 'PostgreSQL') {
      const second = await Server.start(serverData)
      const claim = newPullRequest()('a')
      const answers = await Promise.all([server.admin.claim(claim), second.admin.claim(claim)])
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 201])
      expect(await second.stop()).toBe(0)
      return
    }
    const env = { HOLDFAST_ADMIN_TOKEN: 'another-admin-token' }
    const { code, stdout, stderr } = await new Command(serverData, ['serve', '--port', '0'], env)
      .ended
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/another|already|in use/i)
    expect(stderr).toMatch(/stop|HOLDFAST_DATA_DIR|PostgreSQL|postgres/i)
    expect((await server.admin.claim(newPullRequest()('a'))).status).toBe(201)
  }, 60_000)

  it('what is past its retention is purged at the start, and nothing else', async () => {
    publishNothing(serverData)
    await start()
    const day = 24 * 60 * 60 * 1000
    const claim = async (): Promise<Body> => (await server.admin.claim(newPullRequest()('a'))).body
    const [finished, recent, running] = [await claim(), await claim(), await claim()]
    const superseded = newPullRequest()
    const [old, young] = [
      (await server.admin.claim(superseded('a'))).body,
      (await server.admin.claim(superseded('b'))).body,
    ]
    await server.admin.claim(superseded('c'))
    for (const each of [finished, recent]) await server.admin.complete(each)
    expect(await server.stop()).toBe(0)
    const age = (run: Body, days: number) =>
      serverData.tamper(
        `UPDATE run SET created_at = created_at - ${days * day},
          finished_at = finished_at - ${days * day} WHERE id = '${run.run.id}'`,
      )
    for (const [run, days] of [
      [finished, 60],
      [recent, 29],
      [running, 400],
    ] as const) {
      await age(run, days)
    }
    for (const [run, days] of [
      [old, 8],
      [young, 6],
    ] as const)
      await age(run, days)
    await start()
    const status = async ({ run }: Body) => (await server.admin.get(`/v1/runs/${run.id}`)).status
    expect(
      await until(
        () => status(finished),
        (code) => code === 404,
      ),
    ).toBe(404)
    expect(
      await until(
        () => status(old),
        (code) => code === 404,
      ),
    ).toBe(404)
    for (const kept of [recent, running, young]) expect(await status(kept)).toBe(200)
  }, 60_000)

  it('an unexpected error is a 500 with its request id and no internals', async () => {
    await start()
    await serverData.tamper('DROP TABLE run')
    const { status, headers, body, text } = await server.admin.get('/v1/runs')
    expect(status).toBe(500)
    expect(body).toMatchObject({ status: 500, code: 'internal_error' })
    expect(body.request_id).toBe(headers.get('x-request-id'))
    expect(text).not.toMatch(/table|relation|sql|select|\.ts\b|node_modules|stack/i)
  }, 60_000)
})
