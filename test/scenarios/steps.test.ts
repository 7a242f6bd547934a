/**
 * Goal: a step that must not happen twice survives lost workers, a killed server and a person's
 * decision: it is done again only after the person says so.
 * Method: real servers and real HTTP; a worker dies by sending nothing more. The operator uses the
 * command line.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Answer, Body } from './client.ts'
import { databases, publishNothing, type ServerData } from './server-data.ts'
import { adminToken, Command, Server } from './server.ts'

// A lease has to expire, perhaps on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })
const longMs = 25_000

describe.each(databases)('a step on $name', ({ makeData }) => {
  let serverData: ServerData
  let server: Server
  beforeAll(async () => {
    serverData = await makeData()
    publishNothing(serverData)
    server = await Server.start(serverData)
  })
  afterAll(async () => {
    await server.stop()
    await serverData.remove()
  })

  const lease = (worker: string, over: object = {}): Promise<Answer> =>
    server.admin.post('/v1/runs/lease', { worker, types: ['deploy'], wait_ms: longMs, ...over })

  const step = ({ run, run_token: token }: Body, body: object): Promise<Answer> =>
    server.as(token).call('PUT', `/v1/runs/${run.id}/steps/release`, body)

  async function command(...argv: readonly string[]): Promise<string> {
    const env = { HOLDFAST_URL: server.url, HOLDFAST_TOKEN: adminToken }
    const { code, stdout, stderr } = await new Command(serverData, argv, env).ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }

  it('is done twice only because a person said that it was not done', async () => {
    const claim = { key: 'v1.2.0', type: 'deploy', lease: false }
    const { id } = (await server.admin.claim(claim)).body.run

    const a = (await lease('a', { lease_ms: 1000 })).body
    const begin = (startId: string) => ({ state: 'started', start_id: startId, in_doubt: 'hold' })
    const started = await step(a, begin('a1'))
    expect(started).toMatchObject({ status: 200, body: { state: 'started', attempt: 1 } })
    const { key } = started.body

    // Worker a sends nothing more, so the run goes to the next worker.
    const b = (await lease('b')).body
    expect(b).toMatchObject({
      run: { id, attempt: 2 },
      steps: [{ name: 'release', state: 'started', key, attempt: 1 }],
    })
    expect(await step(b, begin('b1'))).toMatchObject({
      status: 409,
      body: { code: 'step_in_doubt', key, attempt: 1 },
    })
    const heartbeat = server.admin.heartbeat(b, { wait_ms: longMs })
    const hold = { held: true, start_id: 'b1' }
    expect(await step(b, hold)).toMatchObject({ status: 200, body: { state: 'held' } })
    expect(await heartbeat).toMatchObject({ status: 409, body: { code: 'lease_lost' } })

    await server.kill()
    server = await Server.start(serverData)
    expect(await lease('nobody', { wait_ms: 0 })).toMatchObject({ status: 204 })
    expect(await command('runs', '--state', 'waiting')).toContain(id)
    expect(await command('why', id)).toContain(`    holdfast runs step repeat ${id} release\n`)

    const waiting = lease('c')
    expect(await command('runs', 'step', 'repeat', id, 'release')).toContain('is done again')
    const c = (await waiting).body
    expect(c).toMatchObject({ run: { id, attempt: 2, round: 1 } })
    const again = { status: 200, body: { state: 'started', key, attempt: 2 } }
    expect(await step(c, begin('c1'))).toMatchObject(again)
    expect(await step(a, { start_id: 'a1', result: 'by a' })).toMatchObject({ status: 409 })
    const result = { start_id: 'c1', result: 'by c' }
    const done = { state: 'done', result: 'by c' }
    expect(await step(c, result)).toMatchObject({ status: 200, body: done })
    expect(await step(c, result)).toMatchObject({ status: 200, body: { ...done, already: true } })
    expect(await server.admin.complete(c)).toMatchObject({ body: { state: 'succeeded' } })

    const stored = await server.admin.get(`/v1/runs/${id}/steps/release`)
    expect(stored.body).toMatchObject({ ...done, attempt: 2, key })
    const { items } = (await server.admin.get(`/v1/runs/${id}/audit`)).body
    const types = items.map(({ type }) => type)
    for (const type of ['step.in_doubt', 'step.held', 'operator.step_repeated', 'step.late']) {
      expect(types).toContain(type)
    }
  })
})
