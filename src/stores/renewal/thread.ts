/**
 * The thread that renews leases on PostgreSQL, with its own connection. It runs while the main
 * thread is blocked.
 *
 * What must hold: a renewal only raises an expiry, and only while the lease is still the run's own
 * and the run's deadline has not passed. It raises `rev`, as every write of a run does. It stops
 * when the main thread has given no sign for the timeout of the run: then nobody works on it.
 */
import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { Client } from 'pg'
import { systemClock } from '../../clock.ts'
import { delay, systemScheduler } from '../../scheduler.ts'
import type { RenewedLease } from '../../store/lease-renewal.ts'
import type { ThreadData, ThreadMessage } from './renewal-messages.ts'

const everyMsMin = 100
/** A lease that is kept from now on may be so short. */
const leaseMsMin = 8000
const reconnectMs = 1000
const answerMsMax = 5000

const { url, sessionOptions, signs, tellFd } = workerData as ThreadData
const kept = new Map<string, RenewedLease>()

parentPort?.on('message', (message: ThreadMessage) => {
  if ('keep' in message) kept.set(message.keep.leaseHash, message.keep)
  else kept.delete(message.drop)
})

let seen = Atomics.load(signs, 0)
let seenAt = systemClock.monotonicMs()

/** How long the main thread has given no sign. */
function silentMs(): number {
  const now = systemClock.monotonicMs()
  const count = Atomics.load(signs, 0)
  if (count !== seen) [seen, seenAt] = [count, now]
  return now - seenAt
}

/**
 * One statement for all leases. A row that somebody else is writing is skipped until the next turn:
 * it may be locked by a transaction of the blocked main thread.
 */
const renewal = `UPDATE run SET rev = run.rev + 1,
    lease_expires_at = due.now + run.lease_ms,
    due_at = LEAST(due.now + run.lease_ms, COALESCE(run.deadline_at, due.now + run.lease_ms))
  FROM (
    SELECT run.id, given.now
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) AS given,
      unnest($1::text[], $2::text[]) AS kept (id, hash)
      JOIN run ON run.id = kept.id AND run.lease_hash = kept.hash
    WHERE run.state IN ('running', 'waiting') AND run.token_until IS NULL
      AND (run.deadline_at IS NULL OR run.deadline_at > given.now)
      AND run.lease_expires_at < given.now + run.lease_ms / 2
    FOR NO KEY UPDATE OF run SKIP LOCKED
  ) AS due
  WHERE run.id = due.id
  RETURNING run.lease_hash`

async function renewAll(client: Client): Promise<void> {
  const silent = silentMs()
  const leases = [...kept.values()].filter(({ timeoutMs }) => silent < timeoutMs)
  if (leases.length === 0) return
  const ids = leases.map(({ runId }) => runId)
  const hashes = leases.map(({ leaseHash }) => leaseHash)
  const sentAt = systemClock.monotonicMs()
  const renewed = await client.query<{ lease_hash: string }>(renewal, [ids, hashes])
  for (const { lease_hash: leaseHash } of renewed.rows) tell(leaseHash, sentAt)
}

/** Counted from before the renewal was asked for, so that nobody believes in more than there is. */
function tell(leaseHash: string, sentAt: number): void {
  const lease = kept.get(leaseHash)
  if (lease === undefined || tellFd === null) return
  const leftMs = Math.floor(sentAt + lease.leaseMs - systemClock.monotonicMs())
  if (leftMs <= 0) return
  try {
    writeSync(tellFd, `${leaseHash} ${leftMs}\n`)
  } catch {
    // Nobody reads, and the pipe is full.
  }
}

/** Often enough that a lease is renewed before the last eighth of it begins. */
function pauseMs(): number {
  const shortest = Math.min(...[...kept.values()].map(({ leaseMs }) => leaseMs), leaseMsMin)
  return Math.max(everyMsMin, shortest / 8)
}

/** Returns when the connection is lost. */
async function renewWhileConnected(): Promise<void> {
  const client = new Client({
    connectionString: url,
    application_name: 'holdfast leases',
    options: sessionOptions,
    connectionTimeoutMillis: answerMsMax,
    query_timeout: answerMsMax,
    keepAlive: true,
  })
  // The query that is under way, or the next one, rejects too.
  client.on('error', () => undefined)
  try {
    await client.connect()
    for (;;) {
      await renewAll(client)
      await delay(systemScheduler, pauseMs())
    }
  } catch {
    // The server is away, or busy for too long: the next connection goes on.
  } finally {
    await client.end().catch(() => undefined)
  }
}

parentPort?.postMessage('ready')
for (;;) {
  await renewWhileConnected()
  await delay(systemScheduler, reconnectMs)
}
