/**
 * Goal: the Python worker with steps does a part again only if nobody knows whether it was done.
 * Method: the real program and a real server. The service that the steps use is this test, which
 * decides when it answers. What the guide gives to try uses the service that stands in for it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { RunJson } from '../test/scenarios/client.ts'
import { databases, type ServerData } from '../test/scenarios/server-data.ts'
import { freePort } from '../test/free-port.ts'
import { adminToken, Server } from '../test/scenarios/server.ts'
import { until } from '../test/scenarios/until.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** Answers `build` at once, and `announce` when the test says so. */
class Service {
  readonly asked: string[] = []
  #held: ServerResponse[] = []
  #look: () => void = () => undefined
  readonly #server = createServer((request, response) => {
    const what = request.url ?? ''
    this.asked.push(`${what} ${String(request.headers['idempotency-key'])}`)
    request.resume()
    if (what === '/build') response.end('{"file":"widgets.zip"}')
    else this.#held.push(response)
    this.#look()
  })

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves when it holds this many answers. */
  async holds(count: number): Promise<void> {
    while (this.#held.length < count) {
      await new Promise<void>((resolve) => (this.#look = resolve))
    }
  }

  answer(): void {
    for (const response of this.#held.splice(0)) response.end('{"posted":true}')
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

let data: ServerData
let server: Server
let service: Service
let serviceUrl: string
const workers: ChildProcess[] = []

beforeEach(async () => {
  data = await databases[0]!.makeData()
  // A lost worker is found soon, and a slow machine does not lose one.
  server = await Server.start(data, { HOLDFAST_LEASE_MS: '4000' })
  service = new Service()
  serviceUrl = await service.listen()
})
afterEach(async () => {
  for (const child of workers.splice(0)) child.kill('SIGKILL')
  service.close()
  await server.stop()
  await data.remove()
})

function startWorker(token: string, runs: number) {
  const { PATH = '', HOME = '' } = process.env
  const program = join(import.meta.dirname, 'steps_worker.py')
  const settings = { HOLDFAST_URL: server.url, HOLDFAST_TOKEN: token, SERVICE_URL: serviceUrl }
  const child = spawn('python3', ['-B', program], {
    env: { PATH, HOME, ...settings, WORKER_RUNS: String(runs) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  workers.push(child)
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  const ended = once(child, 'close')
  return { child, lines, ended }
}

async function workerToken(): Promise<string> {
  return (await server.admin.post('/v1/tokens', { scope: 'worker' })).body.token
}

async function release(version: string): Promise<string> {
  const job = { type: 'release', key: `release ${version}`, input: { version }, lease: false }
  return (await server.admin.claim(job)).body.run.id
}

const ended = (id: string): Promise<RunJson> =>
  until(
    () => server.admin.run(id),
    ({ state }) => !['pending', 'running'].includes(state),
  )

it('killed in its second step, the next worker does not do the first one again', async () => {
  const token = await workerToken()
  const id = await release('1.0')
  const first = startWorker(token, 1)
  // The second question leaves only after the result of the first step is stored.
  await service.holds(1)
  first.child.kill('SIGKILL')
  await first.ended
  const second = startWorker(token, 1)
  await service.holds(2)
  service.answer()
  expect(await ended(id)).toMatchObject({
    ...{ state: 'succeeded', attempt: 2, round: 1 },
    ...{ summary: 'Released 1.0.', result: { file: 'widgets.zip' } },
  })
  await second.ended
  expect([first.lines, second.lines]).toEqual([[], ['succeeded']])
  const [build, announce] = service.asked
  expect(service.asked).toEqual([build, announce, announce])
  const { body } = await server.admin.get(`/v1/runs/${id}/audit`)
  const types = body.items.map(({ type }) => type).filter((type) => type.startsWith('step.'))
  expect(types.toSorted()).toEqual(['step.in_doubt', 'step.taken_over'])
})

it('when its run is cancelled, it keeps the result and goes on with the next run', async () => {
  const id = await release('2.0')
  const { lines, ended: workerEnded } = startWorker(await workerToken(), 2)
  await service.holds(1)
  await server.admin.post(`/v1/runs/${id}/cancel`)
  await until(
    async () => lines,
    ([line]) => line === 'stop: cancelled',
  )
  service.answer()
  const step = `/v1/runs/${id}/steps/announce`
  await until(
    () => server.admin.get(step),
    ({ body }) => body.state === 'done',
  )
  const next = await release('2.1')
  await service.holds(1)
  service.answer()
  expect((await ended(next)).state).toBe('succeeded')
  await workerEnded
  expect(lines).toEqual(['stop: cancelled', 'stop: cancelled', 'succeeded'])
  expect((await server.admin.run(id)).state).toBe('cancelled')
})

it('when its work fails, the run fails and says why', async () => {
  const job = { type: 'release', key: 'no version', input: {}, lease: false }
  const { id } = (await server.admin.claim(job)).body.run
  const { lines, ended: workerEnded } = startWorker(await workerToken(), 1)
  await workerEnded
  expect(lines).toEqual(['failed'])
  expect((await server.admin.run(id)).error).toMatchObject({ code: 'worker_error' })
})

it('can be tried as the guide says', async () => {
  const root = join(import.meta.dirname, '..')
  const guide = readFileSync(join(root, 'docs/guides/workers.md'), 'utf8')
  const chapter = guide.split('\n### The same with steps\n')[1]?.split('\n## ')[0] ?? ''
  const blocks = [...chapter.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)
  const [startService = '', startIt = '', claim = '', ...more] = blocks
  expect(more).toEqual([])
  mkdirSync(join(data.folder, 'data'))
  writeFileSync(join(data.folder, 'data', 'admin-token'), adminToken)
  const port = String(await freePort())
  const token = await workerToken()
  const bash = (block: string, cwd: string) => {
    const script = block
      .replace('http://127.0.0.1:8787', server.url)
      .replace('127.0.0.1:8792', `127.0.0.1:${port}`)
      .replace('HOLDFAST_TOKEN=…', `HOLDFAST_TOKEN=${token}`)
      .replace(/python3 /, 'exec python3 -B ')
    const { PATH = '', HOME = '' } = process.env
    const child = spawn('bash', ['-euc', script], {
      ...{ cwd, env: { PATH, HOME, PORT: port, WORKER_RUNS: '1' } },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    workers.push(child)
    return createInterface(child.stdout)[Symbol.asyncIterator]()
  }
  const stand = bash(startService, root)
  const nextOf = async (lines: typeof stand) => (await lines.next()).value as string
  expect(await nextOf(stand)).toBe(`service listening on http://127.0.0.1:${port}`)
  const worker = bash(startIt, root)
  bash(claim, data.folder)
  const promised = [...(/The service prints (.*)/.exec(chapter)?.[1] ?? '').matchAll(/`(.*?)`/g)]
  expect([await nextOf(stand), await nextOf(stand), await nextOf(worker)]).toEqual(
    promised.map(([, line]) => line),
  )
})
