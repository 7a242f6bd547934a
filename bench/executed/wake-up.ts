/**
 * How long a run waits: from the call that claims it until its function begins. One run at a time,
 * so that no run waits for another one. `embedded` is one process on SQLite. With BullMQ one
 * process claims and another one works, on PostgreSQL.
 */
import { join } from 'node:path'
import { createDatabase } from '../../test/postgres/create-database.ts'
import { RedisServer } from '../../test/redis/server.ts'
import type { Limit } from '../limits.ts'
import { median } from '../rounds.ts'
import { Processes } from './processes.ts'

const program = 'holdfast.ts'

export async function measureEmbeddedWakeUp(folder: string, runs: number): Promise<Limit[]> {
  const url = `sqlite:${join(folder, 'wake-up.sqlite')}`
  const all = await Processes.start({ program, args: [url, 'none', 'all'] })
  try {
    return limits('wake-up, embedded', await measure(all, runs), 20)
  } finally {
    await all.stop()
  }
}

export async function measureQueuedWakeUp(clusterUrl: string, runs: number): Promise<Limit[]> {
  const { url } = await createDatabase(clusterUrl)
  const redis = await RedisServer.start()
  const started: Processes[] = []
  try {
    const claims = await Processes.start({ program, args: [url, redis.url, 'claims'] })
    started.push(claims)
    const works = await Processes.start({ program, args: [url, redis.url, 'works'] })
    started.push(works)
    works.reportTo(claims)
    return limits('wake-up, BullMQ', await measure(claims, runs), 50)
  } finally {
    for (const processes of started) await processes.stop()
    await redis.stop()
  }
}

/** The first ones only warm up. */
async function measure(processes: Processes, runs: number): Promise<readonly number[]> {
  await processes.work(Math.ceil(runs / 4), 1)
  return await processes.work(runs, 1)
}

function limits(what: string, latencies: readonly number[], bound: number): Limit[] {
  const sorted = latencies.toSorted((a, b) => a - b)
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
  return [
    { what: `${what}, p50`, value: median(sorted), unit: 'ms', bound: null },
    { what: `${what}, p99`, value: p99, unit: 'ms', bound },
  ]
}
