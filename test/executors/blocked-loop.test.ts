/**
 * Goal: a handler that computes for three leases without a pause keeps its run.
 * Method: two real workers on one PostgreSQL. The one that gets the run blocks its event loop; the
 * other one waits to take over.
 */
import { writeFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { onPostgres, type ServerData } from '../scenarios/server-data.ts'
import { Command, Server } from '../scenarios/server.ts'
import { until } from '../scenarios/until.ts'

const leaseMs = 1500

const config = `
import { appendFileSync } from 'node:fs'
export default {
  runs: {
    job: {
      status: false,
      anchor: false,
      run: () => {
        appendFileSync('calls.txt', process.pid + '\\n')
        const until = performance.now() + ${3 * leaseMs}
        while (performance.now() < until);
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

it('and nobody else takes it', { timeout: 60_000 }, async () => {
  data = await onPostgres()
  writeFileSync(join(data.folder, 'holdfast.config.ts'), config)
  const env = { HOLDFAST_LEASE_MS: String(leaseMs), HOLDFAST_LOG_LEVEL: 'error' }
  server = await Server.start(data, env, '0', ['--no-work'])
  for (let i = 0; i < 2; i++) {
    const worker = new Command(data, ['worker'], env)
    workers.push(worker)
    await worker.printed(/^(holdfast working on job)$/m)
  }
  const claimed = await server.admin.call('POST', '/v1/runs', {
    type: 'job',
    key: 'k',
    lease: false,
  })
  const { id } = claimed.body.run
  const admin = server.admin
  const { body } = await until(
    () => admin.get(`/v1/runs/${id}`),
    (answer) => !['pending', 'running'].includes(answer.body.state),
  )
  expect([body.state, body.attempt]).toEqual(['succeeded', 1])
  expect(readFileSync(join(data.folder, 'calls.txt'), 'utf8').trim().split('\n')).toHaveLength(1)
})
