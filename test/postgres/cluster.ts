/**
 * A private PostgreSQL cluster in a temporary folder, on a free port of 127.0.0.1.
 *
 * What must hold: nothing of it outlives this process, however the process ends. A supervising
 * shell in its own session has the read end of a pipe whose only writer is this process. When this
 * process closes the pipe, crashes or is killed, the shell stops the server and removes the folder.
 * A Ctrl-C in the terminal does not reach the shell, so interrupted tests still have their database
 * while they clean up.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../free-port.ts'
import { findBinaries } from './binaries.ts'
import { serverAccount } from './server-account.ts'

export interface ClusterOptions {
  /** Syncs to disk as in production, for benchmarks. Tests do not, because that is faster. */
  readonly durable?: boolean
  /** Further server settings, such as { deadlock_timeout: '100ms' }. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface Cluster {
  /** The address of the maintenance database; pass it to createDatabase. */
  readonly url: string
  stop(): Promise<void>
}

const startDeadlineMs = 60_000
const portTries = 3

// With the collation of a language, a column without COLLATE "C" sorts in another order and is
// found.
const initdbFlags = [
  ...['--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-sync'],
  ...['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'],
]

// Repeats the signal, because a signal before the server has its handlers would be lost.
const supervisor = `
folder=$1 binaries=$2
shift 2
"$binaries/initdb" --pgdata "$folder/data" ${initdbFlags.join(' ')} >"$folder/log" 2>&1 && {
  exec 3<&0
  "$binaries/postgres" -D "$folder/data" "$@" >"$folder/log" 2>&1 3<&- &
  server=$!
  ( cat <&3 >/dev/null; while kill -INT "$server" 2>/dev/null; do sleep 0.1; done ) &
  wait "$server"
}
tail -n 20 "$folder/log" >&2
rm -rf "$folder"
`

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const binaries = findBinaries()
  if (binaries === null) {
    throw new Error('PostgreSQL is not installed. Run `npm test`, which installs it or says how.')
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(binaries, options)
    } catch (error) {
      // Another program may take the free port before the server binds it.
      const portTaken = error instanceof Error && error.message.includes('Address already in use')
      if (!portTaken || attempt === portTries) throw error
    }
  }
}

async function startOnce(binaries: string, options: ClusterOptions): Promise<Cluster> {
  const account = serverAccount()
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'))
  if (account !== null) chownSync(folder, account.uid, account.gid)
  const flags = serverFlags(folder, port, options)
  const child = spawn('sh', ['-c', supervisor, 'sh', folder, binaries, ...flags], {
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    ...account,
  })
  // A cluster that is never stopped must not keep its owner alive: the pipe closes with the
  // process.
  for (const handle of [child, child.stdin, child.stderr]) (handle as { unref(): void }).unref()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await readiness(child, url)
  return { url, stop: () => stop(child) }
}

function serverFlags(folder: string, port: number, options: ClusterOptions): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: folder,
    max_connections: '200',
    ...(options.durable === true
      ? {}
      : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...options.settings,
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** The server is ready when it answers. Any error is tried again until the server has ended. */
async function readiness(child: ChildProcess, url: string): Promise<void> {
  const output: string[] = []
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => void output.push(chunk))
  const giveUp = AbortSignal.timeout(startDeadlineMs)
  while (!(await answers(url))) {
    if (hasEnded(child)) throw new Error(`PostgreSQL did not start:\n${output.join('')}`)
    if (giveUp.aborted) {
      await stop(child)
      throw new Error(`PostgreSQL is not ready in time:\n${output.join('')}`)
    }
    await pause(20)
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  // Both must be referenced, or a program with nothing else to do ends before the answer.
  child.ref()
  ;(child.stderr as { ref(): void } | null)?.ref()
  const closed = once(child, 'close')
  child.stdin?.end()
  await closed
}
