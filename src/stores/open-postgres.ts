/** Opens a PostgreSQL store: the pool, its clock, its schema, the driver. */
import { Pool, TypeOverrides, types, type ClientBase, type PoolConfig } from 'pg'
import { HoldfastError, SetupError } from '../errors.ts'
import { ServerClock } from './drivers/postgres-clock.ts'
import { connectFailure } from './drivers/postgres-errors.ts'
import { migratePostgres } from './drivers/postgres-schema.ts'
import { PostgresDriver } from './drivers/postgres.ts'
import { loadMigrations, type MigrateWhen } from './migrations.ts'
import type { StoreMachine } from './open-sqlite.ts'
import { SqlStore } from './sql-store/sql-store.ts'

const versionMin = 150_000
const connectionsMax = 10
/** As long as the driver waits, because others need what a transaction has locked. */
const transactionLimit = '30s'
/** Longer than every statement may take. If the network loses an answer, nobody waits for ever. */
const answerMsMax = 20_000

// Every statement of ours finds rows by an index. But if a statement is prepared while its table is
// empty, PostgreSQL plans to read the whole table. It keeps that plan until it analyses the table
// about a minute later, however large the table is by then.
const sessionSettings = {
  search_path: 'holdfast',
  // Our own limits, because the role or the database may set others: a limit that is meant for
  // people would end statements that only wait for a lock.
  lock_timeout: '5s',
  statement_timeout: '15s',
  idle_session_timeout: '0',
  // Shorter than the driver waits, so that the locks of a frozen process are free before others
  // give up.
  idle_in_transaction_session_timeout: '10s',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  // One plan for all values. Without this every connection plans each statement six times.
  plan_cache_mode: 'force_generic_plan',
}
export const sessionOptions = Object.entries(sessionSettings)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ')

/** `never` is for a move, which looks at the database before it changes anything. */
export async function openPostgresDriver(
  url: string,
  machine: Omit<StoreMachine, 'channels'>,
  when?: MigrateWhen | 'never',
): Promise<PostgresDriver> {
  const config = {
    connectionString: url,
    application_name: 'holdfast',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    options: sessionOptions,
    // Times and ids are far below 2^53, so a bigint may be a plain number.
    types: bigintsAsNumbers(),
  }
  const pool = new Pool({
    ...config,
    max: connectionsMax,
    query_timeout: answerMsMax,
    onConnect: limitTransactions(transactionLimit),
  })
  surviveBrokenConnections(pool)
  const clock = new ServerClock(machine.clock, machine.scheduler, () => askServer(pool))
  try {
    await refuseOldServer(pool)
    await clock.start()
    if (when !== 'never') await migrate(config, clock.now(), when)
  } catch (error) {
    await clock.stop()
    await pool.end()
    throw error instanceof HoldfastError ? error : connectFailure(error, false)
  }
  return new PostgresDriver({ ...machine, pool, serverClock: clock })
}

/** Uses its own connection, because a migration may take longer than any other answer. */
async function migrate(config: PoolConfig, nowMs: number, when?: MigrateWhen): Promise<void> {
  const options = `${sessionOptions} -c statement_timeout=0`
  const pool = new Pool({ ...config, options, onConnect: limitTransactions('0'), max: 1 })
  surviveBrokenConnections(pool)
  try {
    await migratePostgres(pool, loadMigrations('postgres'), nowMs, when)
  } finally {
    await pool.end()
  }
}

export async function openPostgres(
  url: string,
  machine: StoreMachine,
  when?: MigrateWhen,
): Promise<SqlStore> {
  const driver = await openPostgresDriver(url, machine, when)
  return new SqlStore(driver, machine)
}

/** Not in the session options, because a server before version 17 would refuse the connection. */
function limitTransactions(limit: string): (client: ClientBase) => void {
  const statement = `SELECT set_config(name, $1, false) FROM pg_settings
    WHERE name = 'transaction_timeout'`
  // The pool waits for the promise, although the type of `onConnect` does not say so.
  return (client): unknown => client.query(statement, [limit])
}

/**
 * A connection may break while it is idle, in use, or already discarded. Its user gets the error
 * from the query. Without a listener it would also be an uncaught exception.
 */
function surviveBrokenConnections(pool: Pool): void {
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
}

function bigintsAsNumbers(): TypeOverrides {
  const overrides = new TypeOverrides()
  overrides.setTypeParser(types.builtins.INT8, Number)
  return overrides
}

async function askServer(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ now: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  )
  return rows[0]?.now ?? Number.NaN
}

async function refuseOldServer(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ version: string }>(
    `SELECT current_setting('server_version_num') AS version`,
  )
  const version = Number(rows[0]?.version)
  if (version >= versionMin) return
  throw new SetupError('store_too_old', `this PostgreSQL is version ${version}`, {
    hint: 'Holdfast needs PostgreSQL 15 or newer.',
  })
}
