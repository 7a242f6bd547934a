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

const untilAborted = ({ signal }) =>
  new Promise((resolve) => signal.addEventListener('abort', resolve))
const listens = {
  rejects: ({ signal }) => {
    signal.addEventListener('abort', async () => { throw new Error('of its listener') })
  },
  rejectsLater: ({ signal }) => {
    signal.addEventListener('abort', async () => {
      await pause(1)
      throw new Error('of its listener')
    })
  },
  throws: ({ signal }) => {
    signal.addEventListener('abort', () => { throw new Error('of its listener') })
  },
  promise: ({ signal }) => {
    void new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('of its listener')))
    })
  },
}
const jobs = []
setInterval(() => jobs.shift()?.(), 10).unref()

export default defineConfig({
  runs: {
    listens: {
      ...shown,
      run: async (run) => {
        listens[run.input.how](run)
        if (!run.input.ends) await untilAborted(run)
      },
    },
    'late-step': {
      ...shown,
      run: async (run) => {
        const options = { retries: 0, timeoutMs: 1 }
        await run.step('a', options, async ({ signal }) => {
          listens[run.input]({ signal })
          await untilAborted({ signal })
        })
      },
    },
    uncaught: {
      ...shown,
      run: async (run) => {
        await run.step('before', () => 1)
        setTimeout(() => { throw new Error('in a timer') }, 1)
        setImmediate(() => { throw Object.freeze(new Error('in a callback')) })
        await pause(50)
        return { result: await run.step('after', () => 'done') }
      },
    },
    outside: {
      ...shown,
      run: async ({ input, signal }) => {
        const fail = () => { throw new Error('of the pool') }
        jobs.push(input === 'throws' ? fail : () => void Promise.reject(new Error('of the pool')))
        await waits({ signal })
      },
    },
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
  server = await Server.start(data, { HOLDFAST_SHUTDOWN_MS: '100' })
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

const listeners = ['rejects', 'rejectsLater', 'throws', 'promise']

it.each(listeners)('a listener of the signal that fails: %s', async (how) => {
  const beside = await claim('beside')
  await reaches(beside, 'running')
  const ended = await claim('listens', { how, ends: true })
  await reaches(ended, 'succeeded')
  await isLogged(ended, 'of its listener')
  const cancelled = await claim('listens', { how, ends: false })
  await reaches(cancelled, 'running')
  await server.admin.call('POST', `/v1/runs/${cancelled}/cancel`, {})
  await isLogged(cancelled, 'of its listener')
  const late = await claim('late-step', how)
  await isLogged(late, 'of its listener')
  expect((await reaches(beside, 'running')).body.attempt).toBe(1)
})

it('an exception that nobody catches ends neither its run nor another one', async () => {
  const beside = await claim('beside')
  await reaches(beside, 'running')
  const uncaught = await claim('uncaught')
  const { body } = await reaches(uncaught, 'succeeded', 'failed')
  expect([body.state, body.result, body.attempt]).toEqual(['succeeded', 'done', 1])
  await isLogged(uncaught, 'in a timer')
  await isLogged(uncaught, 'in a callback')
  expect((await reaches(beside, 'running')).body.attempt).toBe(1)
})

it('an exception of code that belongs to no run ends the process', async () => {
  await claim('outside', 'throws')
  const { code, stderr } = await server.command.ended
  expect(code).toBe(1)
  expect(stderr).toMatch(/of the pool.*ends at once/)
})

it('a rejection of code that belongs to no run stops the process', async () => {
  await claim('outside', 'rejects')
  const { code, stderr } = await server.command.ended
  expect(code).toBe(1)
  expect(stderr).toMatch(/of the pool.*so this process stops/)
  expect(stderr).toContain('1 run was still going on after 100 ms')
})

const isLogged = (id: string, text: string): Promise<string> =>
  server.command.said(new RegExp(`${text}.*"run_id":"${id}"`))
