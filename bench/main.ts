/**
 * `npm run bench [-- sqlite] [-- postgres] [-- --quick]`: measures, prints a table of ratios, and
 * exits with 1 when a bound is missed. `--executed` measures only executed runs. `--smoke` only
 * shows that every part works. See README.md beside this file.
 */
import { githubDeclarations } from '../src/channels/github-channels.ts'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openPostgres } from '../src/stores/open-postgres.ts'
import { openSqlite } from '../src/stores/open-sqlite.ts'
import { startCluster } from '../test/postgres/cluster.ts'
import { createDatabase } from '../test/postgres/create-database.ts'
import { measureAtScale } from './at-scale.ts'
import { areWithinBounds, measureCalls, renderCalls } from './calls.ts'
import { measureIntake } from './intake.ts'
import { describeMachine } from './machine.ts'
import {
  durable,
  measureExecutedOnPostgres,
  measureExecutedOnSqlite,
} from './executed/executed-runs.ts'
import { measureEmbeddedWakeUp, measureQueuedWakeUp } from './executed/wake-up.ts'
import { measureIdle } from './idle.ts'
import { isWithin, renderLimits, type Limit } from './limits.ts'
import { measureBatches } from './postgres-batches.ts'
import { makePostgresHistory } from './postgres-history.ts'
import { machine } from './recording.ts'
import { isOk, renderTable, type Result } from './result.ts'
import { measureGroupCommit } from './sqlite-group-commit.ts'
import { makeSqliteHistory } from './sqlite-history.ts'

const databases = ['sqlite', 'postgres'] as const
type Database = (typeof databases)[number]

/** At scale a round is longer, so that rare work, such as a checkpoint, is part of every round. */
const full = {
  rounds: 7,
  claims: 4000,
  deliveries: 4000,
  stored: 1_000_000,
  claimsAtScale: 12_000,
  runs: 6000,
  wakeUps: 1000,
  idleSeconds: 60,
  settleMs: 15_000,
  hasPeers: true,
}
const quick: Size = {
  ...full,
  ...{ rounds: 3, claims: 2000, deliveries: 2000, stored: 100_000, claimsAtScale: 6000 },
  ...{ runs: 3000, wakeUps: 300, idleSeconds: 10, settleMs: 5000 },
}
/**
 * Runs every part once, so that a test notices one that is broken. Its times mean nothing. The
 * other systems are left out, because only `npm run bench` installs them.
 */
const smoke: Size = {
  ...{ rounds: 1, claims: 64, deliveries: 64, stored: 200, claimsAtScale: 64 },
  ...{ runs: 64, wakeUps: 4, idleSeconds: 1, settleMs: 0, hasPeers: false },
}
type Size = typeof full

interface Findings {
  readonly results: readonly Result[]
  readonly limits: readonly Limit[]
}

async function measureSqliteRuns(folder: string, size: Size): Promise<Findings> {
  const results = await measureExecutedOnSqlite({ ...size, folder, say })
  const { wakeUps, settleMs, idleSeconds: seconds } = size
  const limits = [
    ...(await measureEmbeddedWakeUp(folder, wakeUps)),
    ...(await measureIdle({ folder, settleMs, seconds, say })),
  ]
  return { results, limits }
}

async function measurePostgresRuns(size: Size): Promise<Findings> {
  const cluster = await startCluster(durable)
  try {
    const clusterUrl = cluster.url
    const results = await measureExecutedOnPostgres({ ...size, clusterUrl, say })
    return { results, limits: await measureQueuedWakeUp(clusterUrl, size.wakeUps) }
  } finally {
    await cluster.stop()
  }
}

async function measureSqlite(folder: string, size: Size): Promise<Result[]> {
  const { rounds, claims, stored } = size
  const grouped = await measureGroupCommit({ folder, rounds, claims })
  const intake = await measureIntake({
    what: 'SQLite, webhooks',
    databaseUrl: `sqlite:${join(folder, 'intake.sqlite')}`,
    bound: 0.5,
    rounds,
    deliveries: size.deliveries,
    say,
  })
  const path = join(folder, 'history.sqlite')
  say(`filling a SQLite file with ${stored} runs`)
  await makeSqliteHistory(path, stored)
  const history = openSqlite(
    { path, exclusive: false },
    { ...machine, channels: githubDeclarations },
  )
  const empty = openSqlite(
    { path: join(folder, 'empty.sqlite'), exclusive: false },
    { ...machine, channels: githubDeclarations },
  )
  const stores = { database: 'SQLite', full: history, empty }
  const atScale = await measureAtScale({ ...stores, stored, rounds, claims: size.claimsAtScale })
  await Promise.all([history.close(), empty.close()])
  return [...grouped, intake, atScale]
}

async function measurePostgres(size: Size): Promise<Result[]> {
  const { rounds, claims, stored } = size
  const cluster = await startCluster(durable)
  try {
    const batched = await measureBatches({ clusterUrl: cluster.url, rounds, claims })
    const intake = await measureIntake({
      what: 'PostgreSQL, webhooks',
      databaseUrl: (await createDatabase(cluster.url)).url,
      bound: 0.3,
      rounds,
      deliveries: size.deliveries,
      say,
    })
    say(`filling a PostgreSQL database with ${stored} runs`)
    const history = await openPostgres(await makePostgresHistory(cluster.url, stored), {
      ...machine,
      channels: githubDeclarations,
    })
    const empty = await openPostgres((await createDatabase(cluster.url)).url, {
      ...machine,
      channels: githubDeclarations,
    })
    const stores = { database: 'PostgreSQL', full: history, empty }
    const atScale = await measureAtScale({ ...stores, stored, rounds, claims: size.claimsAtScale })
    await Promise.all([history.close(), empty.close()])
    return [...batched, intake, atScale]
  } finally {
    await cluster.stop()
  }
}

/** On a real disk: in the data folder that a server in this clone uses. */
function makeFolder(): string {
  const data = join(import.meta.dirname, '..', 'data')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  return mkdtempSync(join(data, 'bench-'))
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function measure({ chosen, size, onlyRuns }: Arguments): Promise<Findings> {
  const folder = makeFolder()
  const results: Result[] = []
  const limits: Limit[] = []
  const add = (found: Findings): void => {
    results.push(...found.results)
    limits.push(...found.limits)
  }
  try {
    say(describeMachine(folder))
    if (chosen.includes('sqlite')) {
      if (!onlyRuns) results.push(...(await measureSqlite(folder, size)))
      add(await measureSqliteRuns(folder, size))
    }
    if (chosen.includes('postgres')) {
      if (!onlyRuns) results.push(...(await measurePostgres(size)))
      add(await measurePostgresRuns(size))
    }
    return { results, limits }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface Arguments {
  readonly chosen: readonly Database[]
  readonly size: Size
  readonly onlyRuns: boolean
}

function readArguments(): Arguments | null {
  try {
    const flag = { type: 'boolean', default: false } as const
    const options = { quick: flag, smoke: flag, executed: flag }
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    const chosen = databases.filter((name) => positionals.includes(name))
    if (chosen.length !== new Set(positionals).size) return null
    const size = values.smoke ? smoke : values.quick ? quick : full
    const onlyRuns = values.executed
    return { chosen: chosen.length > 0 ? chosen : databases, size, onlyRuns }
  } catch {
    return null
  }
}

const args = readArguments()
if (args === null) {
  say('usage: npm run bench -- [sqlite] [postgres] [--executed] [--quick | --smoke]')
  process.exitCode = 2
} else {
  const calls = await measureCalls()
  process.stdout.write(`${renderCalls(calls)}\n`)
  const { results, limits } = await measure(args)
  process.stdout.write(`${renderLimits(limits)}\n`)
  if (results.length > 0) process.stdout.write(`${renderTable(results)}\n`)
  const isFast = args.size === smoke || (results.every(isOk) && limits.every(isWithin))
  process.exitCode = areWithinBounds(calls.ours) && isFast ? 0 : 1
}
