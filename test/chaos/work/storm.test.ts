/**
 * Goal: whatever is killed, stopped, emptied or restarted, every run ends, and an effect happens as
 * often as its step's policy promises.
 * Method: a server and two workers in real processes, on their own PostgreSQL and Redis. This
 * process counts the effects by step key, and decides about held steps as an operator would.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startCluster, type Cluster } from '../../postgres/cluster.ts'
import { createDatabase } from '../../postgres/create-database.ts'
import { RedisServer } from '../../redis/server.ts'
import { seed, seeded } from '../../seed.ts'
import type { Client, RunJson } from '../../scenarios/client.ts'
import type { ServerData } from '../../scenarios/server-data.ts'
import { Effects } from './effects.ts'
import { Storm } from './storm.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

const runsInAll = 500
const policies = ['repeat', 'confirm', 'hold'] as const

let cluster: Cluster
let redis: RedisServer
let effects: Effects
let data: ServerData
let databaseUrl: string
let storm: Storm | undefined

beforeEach(async () => {
  // What was committed has to survive the crash.
  cluster = await startCluster({ durable: true })
  redis = await RedisServer.start()
  effects = await Effects.start()
  databaseUrl = (await createDatabase(cluster.url)).url
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-storm-'))
  data = {
    folder,
    env: { HOLDFAST_DATA_DIR: folder, HOLDFAST_DATABASE_URL: databaseUrl },
    tamper: () => Promise.reject(new Error('not used')),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
})

afterEach(async () => {
  await storm?.end()
  effects.stop()
  await redis.stop()
  await cluster.stop()
  await data.remove()
})

/** Tries again while the server has no database. */
async function claim(client: Client, type: string, key: string): Promise<void> {
  for (;;) {
    const answer = await client
      .call('POST', '/v1/runs', { type, key, lease: false })
      .catch(() => null)
    if (answer !== null && answer.status < 300) return
    await pause(200)
  }
}

/** Tries again while the server has no database. */
async function list(client: Client, query: string): Promise<readonly RunJson[]> {
  for (;;) {
    const answer = await client.get(`/v1/runs?limit=1000&${query}`).catch(() => null)
    if (answer?.status === 200) return answer.body.items
    await pause(200)
  }
}

/** Says what this process knows: done if its effect was counted. Otherwise the step has failed. */
async function decideHeld(client: Client): Promise<void> {
  for (const { id } of await list(client, 'state=waiting')) {
    const steps = await client.get(`/v1/runs/${id}/steps`).catch(() => null)
    const items = (steps?.body.items ?? []) as unknown as { name: string; state: string }[]
    const held = items.find(({ state }) => state === 'held')
    if (held === undefined) continue
    const decision = effects.of(id, held.name) > 0 ? 'confirm' : 'fail'
    const path = `/v1/runs/${id}/steps/${held.name}/${decision}`
    await client.call('POST', path, {}).catch(() => undefined)
  }
}

const isActive = ({ state }: RunJson): boolean => ['pending', 'running', 'waiting'].includes(state)

async function strikeUntil(storm: Storm, isOver: AbortSignal): Promise<void> {
  for (let blow = 0; !isOver.aborted; blow++) {
    await storm.strike(blow)
    await pause(500)
  }
}

it('every run ends, and no effect happens more often than its policy promises', async () => {
  const chance = seeded(seed)
  storm = new Storm({
    ...{ data, databaseUrl, redis, effects, workers: 2 },
    chance: (below) => chance(below),
  })
  await storm.start()
  const client = storm.server?.admin
  if (client === undefined) throw new Error('there is no server')

  const isOver = new AbortController()
  const striking = strikeUntil(storm, isOver.signal)
  const queueAway = storm.queueAway(20_000)
  for (let i = 0; i < runsInAll; i++) await claim(client, policies[i % 3] ?? '', `k${i}`)
  for (;;) {
    await decideHeld(client)
    if (!(await list(client, '')).some(isActive)) break
    await pause(500)
  }
  isOver.abort()
  await Promise.all([striking, queueAway])

  const runs = await list(client, '')
  expect(runs).toHaveLength(runsInAll)
  expect(runs.filter(isActive)).toEqual([])
  const doubled = [...effects.byKey.values()].filter(({ count }) => count > 1)
  const unexplained: string[] = []
  for (const { runId, step, count } of doubled) {
    const { type } = runs.find(({ id }) => id === runId) as RunJson & { readonly type: string }
    const audit = await client.get(`/v1/runs/${runId}/audit?limit=1000`)
    const rows = audit.body.items as unknown as { type: string; data: { step?: string } }[]
    const told = rows.filter((row) => row.data.step === step).map((row) => row.type)
    const excuse = { repeat: 'step.in_doubt', confirm: 'step.late', hold: 'nothing' }[type] ?? ''
    if (!told.includes(excuse)) unexplained.push(`${type} ${runId} ${step}: ${count} times`)
  }
  expect(unexplained).toEqual([])
  const byCode = runs.filter(({ state }) => state === 'failed').map(({ error }) => error?.code)
  // Only steps that the operator gave up make a run fail.
  expect(new Set(byCode).size <= 1 && (byCode[0] ?? 'step_failed') === 'step_failed').toBe(true)
  for (const { id, state } of runs) {
    if (state !== 'succeeded') continue
    for (const step of ['one', 'two', 'three']) expect(effects.of(id, step)).toBeGreaterThan(0)
  }
  // The storm has to have happened.
  for (const count of Object.values(storm.counts)) expect(count).toBeGreaterThan(0)
})
