/**
 * Lets one move at a time work on a target. The lock belongs to a connection, so PostgreSQL
 * releases it however the process ends. It only spares people confusion: the record of the move
 * keeps a second process from doing harm.
 */
import { Client } from 'pg'
import { SetupError } from '../../errors.ts'
import { connectFailure } from '../drivers/postgres-errors.ts'
import { sessionOptions } from '../open-postgres.ts'

/** The advisory lock for moving. Any constant would do. */
const lockId = 4_851_976_002
const connectMsMax = 10_000

/** Returns what releases the lock. */
export async function lockTarget(url: string): Promise<() => Promise<void>> {
  const client = new Client({
    connectionString: url,
    application_name: 'holdfast move',
    connectionTimeoutMillis: connectMsMax,
    keepAlive: true,
    options: sessionOptions,
  })
  // The connection may break while it is idle. Without a listener that would be uncaught.
  client.on('error', () => undefined)
  const release = (): Promise<void> => client.end().catch(() => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_lock($1) AS taken',
      [lockId],
    )
    if (rows[0]?.taken === true) return release
  } catch (error) {
    await release()
    throw connectFailure(error, false)
  }
  await release()
  throw new SetupError('move_running', 'another move into this database is running', {
    hint: 'Wait until it has ended.',
  })
}
