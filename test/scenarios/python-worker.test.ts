/**
 * Goal: the Python worker of the guide does what the guide says.
 * Method: the real program against a real server. It finishes one run; during the next one a newer
 * head is claimed, which it learns of and then works on.
 */
import { spawn, type ChildProcess } from 'node:child_process'
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
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    HOLDFAST_URL: server.url,
    HOLDFAST_TOKEN: token,
    WORKER_RUNS: '3',
    WORKER_SECONDS: '3',
  }
  const started = spawn('python3', [program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  worker = started
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
})
