/**
 * Goal: a function that goes wrong in an unusual way ends its own run, and not the server with the
 * runs beside it.
 * Method: a real server with a config file.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Answer } from './client.ts'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const config = `
import { setTimeout as pause } from 'node:timers/promises'
import { defineConfig } from 'holdfast'

const shown = { status: false, anchor: false }
const waits = ({ signal }) => pause(60_000, null, { signal })

const fails = () => { throw new Error('cannot be read') }
const withField = (name) => Object.defineProperty(new Error('x'), name, { get: fails })
const odd = {
  frozen: () => Object.freeze(new Error('frozen')),
  message: () => withField('message'),
  code: () => withField('code'),
  proxy: () => new Proxy({}, { getPrototypeOf: fails, get: fails }),
  revoked: () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy },
}

export default defineConfig({
  runs: {
    beside: { ...shown, run: async (run) => { await run.step('long', waits) } },
    forgets: {
      ...shown,
      run: async (run) => {
        void Promise.reject(new Error('forgotten'))
        setTimeout(() => void Promise.reject(new Error('forgotten in a timer')), 1)
        void run.step('a', { retries: 0 }, () => { throw new Error('not awaited') })
        await pause(50)
        return { result: 'done' }
      },
    },
    throws: {
      ...shown,
      run: ({ input }) => {
        throw odd[input]()
      },
    },
    step: {
      ...shown,
      run: async (run) => {
        await run.step('a', { retries: 0, inDoubt: 'hold' }, () => {
          throw odd[run.input]()
        })
      },
    },
    cancelled: {
      ...shown,
      run: async (run) => {
        const steps = [run.step('a', waits), run.step('b', waits)]
        for (const step of steps) await step
      },
    },
  },
})
`

let data: ServerData
let server: Server

beforeEach(async () => {
  data = await databases[0]!.makeData()
  writeFileSync(join(data.folder, 'holdfast.config.ts'), config)
  server = await Server.start(data, {})
})
afterEach(async () => {
  await server.kill()
  await data.remove()
})

async function claim(type: string, input: unknown = null): Promise<string> {
  const asked = { type, key: `${type} ${JSON.stringify(input)}`, lease: false, input }
  return (await server.admin.call('POST', '/v1/runs', asked)).body.run.id
}

const reaches = (id: string, ...states: readonly string[]): Promise<Answer> =>
  until(
    () => server.admin.get(`/v1/runs/${id}`),
    ({ body }) => states.includes(body.state),
  )

it('a promise that nobody awaits ends neither its run nor another one', async () => {
  const beside = await claim('beside')
  await reaches(beside, 'running')
  const forgets = await reaches(await claim('forgets'), 'succeeded', 'failed')
  expect([forgets.body.state, forgets.body.result]).toEqual(['succeeded', 'done'])
  const cancelled = await claim('cancelled')
  await until(
    () => server.admin.get(`/v1/runs/${cancelled}/steps/b`),
    ({ status }) => status === 200,
  )
  await server.admin.call('POST', `/v1/runs/${cancelled}/cancel`, {})
  // It is done in the same process after them.
  await reaches(await claim('forgets', 'again'), 'succeeded')
  const still = await reaches(beside, 'running')
  expect([still.body.state, still.body.attempt]).toEqual(['running', 1])
})

it.each(['frozen', 'message', 'code', 'proxy', 'revoked'])('a thrown %s', async (odd) => {
  const beside = await claim('beside')
  await reaches(beside, 'running')
  const { body } = await reaches(await claim('throws', odd), 'failed')
  expect(body.attempt).toBe(1)
  const { text } = body.error as unknown as { text: string }
  const texts: Readonly<Record<string, string>> = { frozen: 'Error: frozen', code: 'Error: x' }
  expect(text).toBe(texts[odd] ?? 'something was thrown that cannot be read')
  await reaches(await claim('step', odd), 'waiting')
  expect((await reaches(beside, 'running')).body.attempt).toBe(1)
})
