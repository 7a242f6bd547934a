/**
 * Goal: a handler that computes for longer than a lease, without a pause, keeps its run, and the
 * commands beside it keep theirs.
 * Method: real servers and workers. On PostgreSQL a second worker waits to take over.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { databases, onPostgres, type ServerData } from '../scenarios/server-data.ts'
import { Command, Server } from '../scenarios/server.ts'
import { until } from '../scenarios/until.ts'

const configOf = (blockMs: number): string => `
import { appendFileSync } from 'node:fs'
const quiet = { status: false, anchor: false }
const wait = 'echo $$ >> commands.txt; while [ ! -e calls-done.txt ]; do sleep 0.05; done'
export default {
  runs: {
    command: { ...quiet, run: { command: ['sh', '-c', wait] } },
    job: {
      ...quiet,
      run: () => {
        appendFileSync('calls.txt', process.pid + '\\n')
        const until = performance.now() + ${blockMs}
        while (performance.now() < until);
        appendFileSync('calls-done.txt', '')
      },
    },
  },
}
`

let data: ServerData
let server: Server | undefined
const workers: Command[] = []

afterEach(async () => {
  for (const { child, ended } of workers.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
  await server?.kill()
  await data.remove()
})

async function claim(type: string): Promise<string> {
  const body = { type, key: type, lease: false }
  const claimed = await server!.admin.call('POST', '/v1/runs', body)
  return claimed.body.run.id
}

async function endOf(id: string): Promise<readonly [state: string, attempt: number]> {
  const { body } = await until(
    () => server!.admin.get(`/v1/runs/${id}`),
    (answer) => !['pending', 'running'].includes(answer.body.state),
  )
  return [body.state, body.attempt]
}

const linesOf = (file: string): readonly string[] =>
  readFileSync(join(data.folder, file), 'utf8').trim().split('\n')

async function startWorkers(count: number, leaseMs: number): Promise<void> {
  writeFileSync(join(data.folder, 'holdfast.config.ts'), configOf(3 * leaseMs))
  const env = { HOLDFAST_LEASE_MS: String(leaseMs), HOLDFAST_LOG_LEVEL: 'error' }
  server = await Server.start(data, env, '0', ['--no-work'])
  for (let i = 0; i < count; i++) {
    const worker = new Command(data, ['worker'], env)
    workers.push(worker)
    await worker.printed(/^(holdfast working on .*job.*)$/m)
  }
}

it('and nobody else takes it', { timeout: 60_000 }, async () => {
  data = await onPostgres()
  await startWorkers(2, 1500)
  expect(await endOf(await claim('job'))).toEqual(['succeeded', 1])
  expect(linesOf('calls.txt')).toHaveLength(1)
})

/** Of a command and a function of one process. */
async function endsBeside(): Promise<unknown> {
  const command = await claim('command')
  await until(async () => existsSync(join(data.folder, 'commands.txt')), Boolean)
  const job = await claim('job')
  return { command: await endOf(command), job: await endOf(job) }
}

it('and a command beside it goes on, on PostgreSQL', { timeout: 60_000 }, async () => {
  data = await onPostgres()
  await startWorkers(1, 1500)
  expect(await endsBeside()).toEqual({ command: ['succeeded', 1], job: ['succeeded', 1] })
  expect(linesOf('commands.txt')).toHaveLength(1)
})

it('and a command beside it goes on, on SQLite', { timeout: 60_000 }, async () => {
  data = await databases[0]!.makeData()
  writeFileSync(join(data.folder, 'holdfast.config.ts'), configOf(8000))
  server = await Server.start(data, { HOLDFAST_LEASE_MS: '6000' })
  expect(await endsBeside()).toEqual({ command: ['succeeded', 1], job: ['succeeded', 1] })
  expect(linesOf('commands.txt')).toHaveLength(1)
})
