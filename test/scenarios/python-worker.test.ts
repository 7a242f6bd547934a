/**
 * Goal: the Python worker of the guide does what the guide says.
 * Method: the real program against a real server. It finishes one run; during the next one a newer
 * head is claimed, which it learns of and then works on. Another server loses an answer.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

const program = join(import.meta.dirname, '..', '..', 'examples', 'worker.py')
const [sqlite] = databases

let serverData: ServerData
let server: Server
let worker: ChildProcess | undefined

beforeEach(async () => {
  if (sqlite === undefined) throw new Error('there is no database to try it on')
  serverData = await sqlite.makeData()
  server = await Server.start(serverData)
})

afterEach(async () => {
  worker?.kill('SIGKILL')
  await server.stop()
  await serverData.remove()
})

function startWorker(url: string, env: Readonly<Record<string, string>>) {
  const { PATH = '', HOME = '' } = process.env
  const all = { PATH, HOME, HOLDFAST_URL: url, WORKER_SECONDS: '3', ...env }
  const started = spawn('python3', [program], { env: all, stdio: ['ignore', 'pipe', 'inherit'] })
  worker = started
  return started
}

it('finishes a run, drops one that a newer head superseded, and works on the newer', async () => {
  const token = (await server.admin.call('POST', '/v1/tokens', { scope: 'worker' })).body.token
  const claim = (pr: number, head: string) =>
    server.admin.call('POST', '/v1/runs', {
      repo: 'acme/widgets',
      pr,
      base_sha: 'b'.repeat(40),
      head_sha: head.repeat(40),
      lease: false,
    })
  await claim(1, 'a')
  const started = startWorker(server.url, { HOLDFAST_TOKEN: token, WORKER_RUNS: '3' })
  const output = text(started.stdout)
  const done = async (state: string): Promise<boolean> => {
    const { body } = await server.admin.call('GET', `/v1/runs?state=${state}`)
    return body.items.length > 0
  }
  await until(() => done('succeeded'), Boolean)
  await claim(2, 'a')
  await until(() => done('running'), Boolean)
  await claim(2, 'c')
  const lines = (await output).trim().split('\n')
  expect(lines.filter((line) => !line.startsWith('working on'))).toEqual([
    'succeeded',
    'stop: superseded',
    'succeeded',
  ])
  expect(lines[0]).toMatch(/^working on review of acme\/widgets:pr-1:/)
})

it('repeats a lease request whose answer was lost with the same key', async () => {
  const keys: unknown[] = []
  const enough = Promise.withResolvers<undefined>()
  const losing = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'])
    if (keys.length === 3) enough.resolve(undefined)
    if (keys.length === 1) request.destroy()
    else response.writeHead(204).end()
  }).listen(0, '127.0.0.1')
  await once(losing, 'listening')
  const { port } = losing.address() as AddressInfo
  startWorker(`http://127.0.0.1:${port}`, { HOLDFAST_TOKEN: 'x' })
  await enough.promise
  worker?.kill('SIGKILL')
  losing.close()
  expect(keys[0]).toMatch(/./)
  expect(keys[1]).toBe(keys[0])
  expect(keys[2]).not.toBe(keys[0])
})
