/**
 * Goal: a server with a queue shows whether the queue works, and serves without it too.
 * Method: a real server on PostgreSQL with a private Redis that is stopped and started.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { RedisServer } from '../redis/server.ts'
import { newPullRequest } from './client.ts'
import { onPostgres, type ServerData } from './server-data.ts'
import { adminToken, Command, Server } from './server.ts'
import { until } from './until.ts'

let redis: RedisServer
let serverData: ServerData
let server: Server | null
beforeEach(async () => {
  redis = await RedisServer.start({ requirepass: 'hunter2-hunter2' })
  serverData = await onPostgres()
  server = null
}, 60_000)
afterEach(async () => {
  await server?.kill()
  await serverData.remove()
  await redis.stop()
})

const queueEnv = () => ({
  HOLDFAST_QUEUE_URL: `redis://:hunter2-hunter2@127.0.0.1:${redis.port}`,
  HOLDFAST_LOG_LEVEL: 'info',
})

interface Doctor {
  readonly findings: readonly { check: string; level: string; detail: string }[]
}

async function seen(of: Server) {
  const ready = await of.as(null).get('/readyz')
  const { findings } = (await of.admin.get('/v1/doctor')).body as unknown as Doctor
  const scrape = await fetch(`${of.url}/metrics`, {
    headers: { authorization: `Bearer ${adminToken}` },
  })
  return {
    ready: [ready.status, ready.body],
    doctor: findings.find(({ check }) => check === 'queue')?.level,
    up: /^holdfast_queue_up (\d)$/m.exec(await scrape.text())?.[1],
  }
}

const working = {
  ready: [200, { status: 'ok', store: 'ok', queue: 'ok' }],
  doctor: 'ok',
  up: '1',
}
const degraded = {
  ready: [200, { status: 'degraded', store: 'ok', queue: 'away' }],
  doctor: 'problem',
  up: '0',
}

it('a queue that comes and goes is shown everywhere, and work goes on', async () => {
  server = await Server.start(serverData, queueEnv())
  const running = server
  await until(
    () => seen(running),
    (now) => now.up === '1',
  )
  expect(await seen(running)).toEqual(working)
  await redis.stop()
  await until(
    () => seen(running),
    (now) => now.up === '0',
  )
  expect(await seen(running)).toEqual(degraded)
  expect((await running.admin.claim(newPullRequest()('a'))).status).toBe(201)
  await redis.startAgain()
  await until(
    () => seen(running),
    (now) => now.up === '1',
  )
  expect(await running.stop()).toBe(0)
  const { stderr } = await running.command.ended
  expect(stderr).not.toContain('hunter2')
  expect(stderr.match(/The queue cannot be used/g)).toHaveLength(1)
  expect(stderr.match(/The queue works again/g)).toHaveLength(1)
}, 60_000)

it('a server starts and stops while Redis is away', async () => {
  await redis.stop()
  server = await Server.start(serverData, queueEnv())
  await until(
    () => seen(server!),
    (now) => now.doctor === 'problem',
  )
  expect(await seen(server)).toEqual(degraded)
  const began = performance.now()
  expect(await server.stop()).toBe(0)
  expect(performance.now() - began).toBeLessThan(5000)
}, 60_000)

it('doctor examines the queue without a server', async () => {
  const env = { HOLDFAST_ADMIN_TOKEN: adminToken, ...queueEnv() }
  const finding = async () => {
    const { stdout } = await new Command(serverData, ['doctor', '--json'], env).ended
    return (JSON.parse(stdout) as Doctor).findings.find(({ check }) => check === 'queue')
  }
  expect(await finding()).toMatchObject({
    level: 'ok',
    detail: expect.stringMatching(/^BullMQ on Redis [\d.]+ at 127\.0\.0\.1:\d+\.$/) as string,
  })
  await redis.stop()
  expect(await finding()).toMatchObject({
    level: 'problem',
    detail: expect.stringContaining('ECONNREFUSED') as string,
  })
}, 60_000)

it('a queue beside SQLite is refused with the reason', async () => {
  const env = { ...queueEnv(), HOLDFAST_DATABASE_URL: 'sqlite:a.db' }
  const { code, stderr } = await new Command(serverData, ['serve', '--port', '0'], env).ended
  expect([code, stderr]).toEqual([2, expect.stringContaining('nobody to wake') as string])
})
