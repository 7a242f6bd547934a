/**
 * `npm run bench [-- sqlite] [-- postgres] [-- --quick]`: measures, prints a table of ratios, and
 * exits with 1 when a bound is missed. `--smoke` only shows that every part works. See README.md
 * beside this file.
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
}
const quick = { rounds: 3, claims: 2000, deliveries: 2000, stored: 100_000, claimsAtScale: 6000 }
/** Runs every part once, so that a test notices one that is broken. Its times mean nothing. */
const smoke = { rounds: 1, claims: 64, deliveries: 64, stored: 200, claimsAtScale: 64 }
type Size = typeof full

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
  const cluster = await startCluster({ durable: true, settings: { shared_buffers: '512MB' } })
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

async function measure(chosen: readonly Database[], size: Size): Promise<Result[]> {
  const folder = makeFolder()
  try {
    say(describeMachine(folder))
    const results: Result[] = []
    if (chosen.includes('sqlite')) results.push(...(await measureSqlite(folder, size)))
    if (chosen.includes('postgres')) results.push(...(await measurePostgres(size)))
    return results
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface Arguments {
  readonly chosen: readonly Database[]
  readonly size: Size
}

function readArguments(): Arguments | null {
  try {
    const flag = { type: 'boolean', default: false } as const
    const options = { quick: flag, smoke: flag }
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    const chosen = databases.filter((name) => positionals.includes(name))
    if (chosen.length !== new Set(positionals).size) return null
    const size = values.smoke ? smoke : values.quick ? quick : full
    return { chosen: chosen.length > 0 ? chosen : databases, size }
  } catch {
    return null
  }
}

const args = readArguments()
if (args === null) {
  say('usage: npm run bench -- [sqlite] [postgres] [--quick | --smoke]')
  process.exitCode = 2
} else {
  const calls = await measureCalls()
  process.stdout.write(`${renderCalls(calls)}\n`)
  const results = await measure(args.chosen, args.size)
  process.stdout.write(`${renderTable(results)}\n`)
  const isFast = args.size === smoke || results.every(isOk)
  process.exitCode = areWithinBounds(calls.ours) && isFast ? 0 : 1
}
