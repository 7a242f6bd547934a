/**
 * Executed runs, from the claim to the stored end, beside other systems that execute durably. A run
 * of ours is claimed, leased by the work loop, does three steps whose results are stored, has two
 * state deliveries recorded at each change, and is completed. A run of a peer is three recorded
 * steps under an idempotency key. The same number of runs is in work everywhere.
 */
import { join } from 'node:path'
import { freePort } from '../../test/free-port.ts'
import { startCluster } from '../../test/postgres/cluster.ts'
import { createDatabase } from '../../test/postgres/create-database.ts'
import type { Result } from '../result.ts'
import { compare, takeTurns } from '../rounds.ts'
import { Processes } from './processes.ts'
import { startRestate } from './restate-server.ts'

export interface ExecutedOptions {
  readonly rounds: number
  /** Of each round. A peer does a quarter of them, because it takes longer. */
  readonly runs: number
  /** Whether the peers are installed. Without them only our own part is run. */
  readonly hasPeers: boolean
  readonly say: (line: string) => void
}

interface Peer {
  readonly name: string
  readonly bound: number
  readonly start: () => Promise<Started>
}

interface Started {
  readonly processes: Processes
  readonly stop: () => Promise<void>
}

/** Syncs to disk, as SQLite does here. */
export const durable = { durable: true, settings: { shared_buffers: '512MB' } } as const

const sqliteBound = 5
const postgresBound = 2
const workers = 4

/** DBOS has no SQLite, so it uses PostgreSQL here too. */
export async function measureExecutedOnSqlite(
  options: ExecutedOptions & { readonly folder: string },
): Promise<Result[]> {
  const { folder } = options
  const url = `sqlite:${join(folder, 'executed.sqlite')}`
  const peers = [
    { name: 'DBOS on PostgreSQL', bound: sqliteBound, start: startDbosWithCluster },
    { name: 'Restate', bound: sqliteBound, start: () => startRestateService(folder) },
  ]
  return await measure('SQLite, executed runs', options, () => startOurs(url, 1), peers)
}

/** `clusterUrl`: a private PostgreSQL that syncs to disk. */
export async function measureExecutedOnPostgres(
  options: ExecutedOptions & { readonly clusterUrl: string },
): Promise<Result[]> {
  const { clusterUrl } = options
  const ours = await createDatabase(clusterUrl)
  const start = (): Promise<Started> => startDbos(clusterUrl, workers)
  const peers = [{ name: `DBOS, ${workers} processes`, bound: postgresBound, start }]
  const what = `PostgreSQL, executed runs, ${workers} processes`
  return await measure(what, options, () => startOurs(ours.url, workers), peers)
}

async function measure(
  what: string,
  { rounds, runs, hasPeers, say }: ExecutedOptions,
  startOurProcesses: () => Promise<Started>,
  peers: readonly Peer[],
): Promise<Result[]> {
  const measured = hasPeers ? peers : []
  if (!hasPeers) say(`${what}: only ours, because ${peers.map(nameOf).join(' and ')} are left out`)
  const started: Started[] = []
  try {
    started.push(await startOurProcesses())
    for (const { start } of measured) started.push(await start())
    const turns = started.map(({ processes }, i) => {
      return () => processes.rate(i === 0 ? runs : Math.ceil(runs / 4))
    })
    const [ours = [], ...theirs] = await takeTurns(turns, rounds)
    return measured.map(({ name, bound }, i) => {
      return { what, against: name, bound, ...compare(ours, theirs[i] ?? []) }
    })
  } finally {
    for (const { stop } of started) await stop()
  }
}

const nameOf = ({ name }: Peer): string => name

async function startOurs(url: string, count: number): Promise<Started> {
  return await startProgram('holdfast.ts', [url, 'none', 'all'], count)
}

async function startDbosWithCluster(): Promise<Started> {
  const cluster = await startCluster(durable)
  const { processes, stop } = await startDbos(cluster.url, 1)
  return {
    processes,
    async stop() {
      await stop()
      await cluster.stop()
    },
  }
}

async function startDbos(clusterUrl: string, count: number): Promise<Started> {
  const { url } = await createDatabase(clusterUrl)
  return await startProgram('dbos.ts', [url], count)
}

async function startRestateService(folder: string): Promise<Started> {
  const server = await startRestate(join(folder, 'restate'))
  const args = [`${await freePort()}`, server.ingress, server.admin]
  const { processes, stop } = await startProgram('restate.ts', args, 1)
  return {
    processes,
    async stop() {
      await stop()
      await server.stop()
    },
  }
}

async function startProgram(
  program: string,
  args: readonly string[],
  count: number,
): Promise<Started> {
  const processes = await Processes.start({ program, args, count })
  return { processes, stop: () => processes.stop() }
}
