/** Lets a storm of processes loose on one store, kills some of them, and gathers what is left. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { checkAudit } from './check-audit.ts'
import { checkLogs } from './check-logs.ts'
import { startChild, type Child } from './child.ts'
import type { Database } from './open-store.ts'
import { monotonicMs, readLogs, type Logged } from './storm-log.ts'
import type { StormConfig, StormTimes } from './storm-program.ts'
import { readTables } from './storm-tables.ts'

export interface StormOptions {
  readonly database: Database
  readonly processes: number
  readonly workers: number
  readonly pullRequests: number
  readonly forMs: number
  /** One of the processes is killed and replaced this often; null for never. */
  readonly killEveryMs: number | null
  /** After so many kills the storm is over, and the tables were looked at after each of them. */
  readonly killsMax?: number
  readonly broken?: boolean
}

export interface StormResult {
  readonly violations: readonly string[]
  readonly grants: number
  readonly refusals: number
  readonly kills: number
}

export async function runStorm(options: StormOptions): Promise<StormResult> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-storm-'))
  try {
    return await runIn(folder, options)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function runIn(folder: string, options: StormOptions): Promise<StormResult> {
  const { database, workers, pullRequests, broken = false } = options
  const firstEventAt = Math.floor(Date.now() / 1000) * 1000 - 3_600_000
  let started = 0
  const start = (): Child =>
    startChild('storm-program.ts', {
      ...{ database, folder, workers, pullRequests, broken, firstEventAt },
      ...{ name: `p${started++}`, leaseMs: 250 },
    } satisfies StormConfig)
  const children = Array.from({ length: options.processes }, start)
  await Promise.all(children.map(({ ready }) => ready))
  const beganAt = monotonicMs()
  const times: StormTimes = { beganAt, endsAt: beganAt + options.forMs }
  for (const child of children) child.go(times)
  const betweenKills: string[] = []
  const kills = await killSome(children, start, options, {
    times,
    async look() {
      betweenKills.push(...checkAudit(await readTables(database)))
    },
  })
  await Promise.all(children.map(({ ended }) => ended))
  const logs = readLogs(folder)
  const tables = await readTables(database)
  const count = (phase: Logged['phase']): number => logs.filter((l) => l.phase === phase).length
  return {
    violations: [
      ...betweenKills,
      ...checkAudit(tables),
      ...checkLogs({ logs, tables, firstEventAt }),
    ],
    grants: logs.filter(({ granted }) => granted === true).length,
    refusals: count('refused'),
    kills,
  }
}

async function killSome(
  children: Child[],
  start: () => Child,
  { killEveryMs, killsMax = Infinity }: StormOptions,
  watch: { readonly times: StormTimes; look(): Promise<void> },
): Promise<number> {
  if (killEveryMs === null) return 0
  let kills = 0
  while (monotonicMs() < watch.times.endsAt - killEveryMs) {
    const place = Math.floor(Math.random() * children.length)
    const next = kills + 1 < killsMax ? start() : null
    await Promise.all([next?.ready, pause(Math.random() * killEveryMs * 2)])
    await children[place]?.kill()
    kills++
    if (killsMax < Infinity) await watch.look()
    if (next === null) break
    children[place] = next
    next.go(watch.times)
  }
  return kills
}
