/**
 * Goal: a stored value that is damaged stops only the work that needs it, which fails with a code
 * (scenario 59).
 * Method: a test damages values in the database of a real server while the server is away.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { newThread } from '../intake/payloads.ts'
import type { RunJson } from './client.ts'
import { Hooks, hookEnv } from './hooks.ts'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const config = `
import { appendFileSync } from 'node:fs'
const shown = { status: false, anchor: false }

export default {
  runs: {
    review: shown,
    function: { ...shown, run: (run) => ({ result: run.input }) },
    command: { ...shown, run: { command: ['sh', '-c', 'cp "$HOLDFAST_INPUT_FILE" command.json'] } },
    steps: {
      ...shown,
      run: async (run) => {
        const value = await run.step('first', () => 'fine')
        appendFileSync('second.txt', run.key + '\\n')
        if (run.attempt === 1) await new Promise(() => {})
        return { result: value }
      },
    },
  },
}
`
const code = 'stored_value_unreadable'

describe.each(databases)('a damaged value on $name (scenario 59)', ({ makeData }) => {
  let data: ServerData
  let server: Server
  beforeEach(async () => {
    data = await makeData()
    writeFileSync(join(data.folder, 'holdfast.config.ts'), config)
  })
  afterEach(async () => {
    await server.kill()
    await data.remove()
  })

  async function start(...flags: readonly string[]): Promise<void> {
    // On PostgreSQL the leases of a killed server have to end first.
    const env = { ...hookEnv, HOLDFAST_LEASE_MS: '3000' }
    server = await Server.start(data, env, '0', flags)
  }

  const isOver = ({ state }: RunJson): boolean => !['pending', 'running'].includes(state)
  const ended = (id: string): Promise<RunJson> => until(() => server.admin.run(id), isOver)

  async function claim(type: string): Promise<string> {
    const job = { type, key: randomUUID(), input: { pages: 3 }, lease: false }
    return (await server.admin.claim(job)).body.run.id
  }

  const damageInput = (id: string): Promise<void> =>
    data.tamper(`UPDATE run SET input = '{"pages": ' WHERE id = '${id}'`)

  it('the input of a run: this run fails, the others are done', async () => {
    await start('--no-work')
    const types = ['function', 'command', 'remote']
    const [bad, good] = [await Promise.all(types.map(claim)), await Promise.all(types.map(claim))]
    await server.stop()
    for (const id of bad) await damageInput(id)
    await start()
    const lease = { worker: 'w', types: ['remote'], wait_ms: 20_000 }
    const key = { 'idempotency-key': randomUUID() }
    const leased = (await server.admin.post('/v1/runs/lease', lease, key)).body
    expect(leased.run).toMatchObject({ id: good[2], input: { pages: 3 } })
    const again = await server.admin.post('/v1/runs/lease', lease, key)
    expect(again.body.lease).toEqual(leased.lease)
    expect((await server.admin.complete(leased)).status).toBe(200)
    for (const id of bad) {
      const text = 'the stored input of the run cannot be read: it is not JSON'
      const error = { code, text: expect.stringContaining(text) }
      expect(await ended(id)).toMatchObject({ state: 'failed', attempt: 1, error })
    }
    for (const id of good) expect((await ended(id)).state).toBe('succeeded')
    const { status, body } = await server.admin.get('/v1/runs')
    expect([status, body.items.length]).toEqual([200, 6])
    expect(body.items.find(({ id }) => id === bad[0])).toMatchObject({ input: { error: { code } } })
  })

  it('the result of a step: its run fails, the others go on', async () => {
    await start()
    const second = join(data.folder, 'second.txt')
    const bad = await claim('steps')
    const good = await claim('steps')
    // Both have done the first step and hang after it.
    await until(
      async () => (existsSync(second) ? readFileSync(second, 'utf8').trim().split('\n') : []),
      (lines) => lines.length === 2,
    )
    await until(
      () => Promise.all([bad, good].map((id) => server.admin.get(`/v1/runs/${id}/steps/first`))),
      (steps) => steps.every(({ body }) => body.state === 'done'),
    )
    await server.kill()
    await data.tamper(`UPDATE step SET result = '"fi' WHERE run_id = '${bad}'`)
    await start()
    const error = { code, text: expect.stringContaining('result of the step first') }
    expect(await ended(bad)).toMatchObject({ state: 'failed', error })
    expect(await ended(good)).toMatchObject({ state: 'succeeded', result: 'fine' })
    const step = await server.admin.get(`/v1/runs/${bad}/steps/first`)
    expect(step).toMatchObject({ status: 200, body: { result: { error: { code } } } })
  })

  it('the body of a webhook: it is shown as unreadable, and others are processed', async () => {
    await start()
    const hooks = new Hooks(server)
    const send = () => hooks.settle({ ...newThread().on('opened', 'a', 1), guid: randomUUID() })
    const bad = await send()
    await data.tamper('UPDATE inbox_body SET body = substr(body, 2)')
    const shown = await server.admin.get(`/v1/inbox/${bad.id}`)
    expect(shown).toMatchObject({ status: 200, body: { payload: { error: { code } } } })
    await server.admin.post(`/v1/inbox/${bad.id}/replay`)
    expect(await send()).toMatchObject({ state: 'processed', decision: 'accepted' })
  })
})
