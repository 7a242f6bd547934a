/**
 * The PostgreSQL driver: a pool, READ COMMITTED transactions, and the server's clock.
 *
 * What must hold: after a deadlock, a serialisation failure, a unique violation between concurrent
 * inserts or a lost compare-and-set, the verb runs again from its start. If a connection is lost
 * during COMMIT, the server is asked whether it committed: see `postgres-commit`.
 */
import { createHash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { StoreUnavailableError } from '../../errors.ts'
import type { Clock } from '../../clock.ts'
import type { Random } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import type { Driver, OnRepeat } from '../driver.ts'
import { LostRace } from '../driver.ts'
import type { Row, Sql, Verb } from '../sql.ts'
import { InsertRows, raw, sql } from '../sql.ts'
import { clockUnknown, type ServerClock } from './postgres-clock.ts'
import type { TransactionMark } from './postgres-commit.ts'
import { fateOf, transactionMark, UnansweredCommit } from './postgres-commit.ts'
import { connectFailure, contended, endsSession, statementFailure } from './postgres-errors.ts'

/** Longer than the session's lock timeout, so that a verb waits for a lock more than once. */
const patienceMs = 30_000
const pauseMsMax = 50
/** A verb that lost its race so often is given up, even if the clock has stopped. */
const triesMax = 100

export interface PostgresDriverOptions {
  readonly pool: Pool
  readonly serverClock: ServerClock
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly random: Random
  readonly onRepeat?: OnRepeat
}

export class PostgresDriver implements Driver {
  readonly dialect = {
    name: 'postgres',
    lockFree: (table: string) => raw(`FOR UPDATE OF ${table} SKIP LOCKED`),
    keepUnchanged: raw('FOR SHARE'),
    keepForUpdate: raw('FOR UPDATE'),
    hasOneWriter: false,
    rowsFromJson,
    auditOrder: raw('seq'),
    numbersAuditsLater: true,
    needsRoundTrips: true,
  } as const
  readonly #options: PostgresDriverOptions

  constructor(options: PostgresDriverOptions) {
    this.#options = options
  }

  now(): number {
    return this.#options.serverClock.now()
  }

  async transact<T>(makeVerb: () => Verb<T>, patience = patienceMs): Promise<T> {
    const { clock, random, scheduler, onRepeat } = this.#options
    const until = clock.monotonicMs() + patience
    for (let tries = 1; ; tries++) {
      try {
        await this.#steadyClock()
        const isSteady = (): boolean => this.#options.serverClock.isSteady()
        return await this.#withClient((client) => transaction(client, makeVerb(), isSteady))
      } catch (error) {
        if (error instanceof UnansweredCommit) {
          if ((await this.#fateOf(error)) === 'committed') return error.value as T
        } else if (!(error instanceof LostRace)) throw error
        const isHopeless = clock.monotonicMs() >= until || tries >= triesMax
        onRepeat?.(isHopeless ? 'given_up' : 'again', error)
        if (isHopeless) throw contended(error)
        await delay(scheduler, random.below(Math.min(pauseMsMax, 2 ** tries)))
      }
    }
  }

  async read<T>(makeVerb: () => Verb<T>): Promise<T> {
    await this.#steadyClock()
    try {
      return await this.#withClient((client) => drive(client, makeVerb()))
    } catch (error) {
      // The read took too long, so the server is running and busy.
      throw error instanceof LostRace ? contended(error) : error
    }
  }

  #fateOf(unanswered: UnansweredCommit): Promise<'committed' | 'aborted'> {
    const ask = (question: Sql): Promise<readonly Row[]> =>
      this.#withClient((client) => send(client, question))
    return fateOf(unanswered, { ...this.#options, ask })
  }

  async ping(): Promise<void> {
    await this.#steadyClock()
    if (!this.#options.serverClock.isKnown()) {
      throw clockUnknown()
    }
    await this.read(function* () {
      yield raw('SELECT 1')
    })
  }

  async #steadyClock(): Promise<void> {
    const { serverClock } = this.#options
    if (serverClock.isSteady()) return
    try {
      await serverClock.steady()
    } catch (error) {
      throw connectFailure(error, false)
    }
  }

  async close(): Promise<void> {
    await this.#options.serverClock.stop()
    await this.#options.pool.end()
  }

  async #withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect()
    let broken: Error | undefined
    // Without a listener, a connection that breaks meanwhile would be an uncaught exception.
    const onError = (error: Error): void => void (broken = error)
    client.on('error', onError)
    try {
      return await work(client)
    } catch (error) {
      if (error instanceof StoreUnavailableError || endsSession(error)) broken ??= error as Error
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  async #connect(): Promise<PoolClient> {
    const { pool } = this.#options
    try {
      return await pool.connect()
    } catch (error) {
      throw connectFailure(error, pool.totalCount >= pool.options.max)
    }
  }
}

async function transaction<T>(
  client: PoolClient,
  verb: Verb<T>,
  isSteady: () => boolean,
): Promise<T> {
  const mark = await begin(client)
  try {
    const value = await drive(client, verb)
    // The machine was suspended meanwhile, so the verb decided by an old time.
    if (!isSteady()) throw new LostRace('the clock has to be measured again')
    await commit(client, mark, value)
    return value
  } catch (error) {
    // This fails only if the connection is lost, and then the transaction is rolled back anyway.
    await send(client, raw('ROLLBACK')).catch(() => undefined)
    throw error
  }
}

/** Two statements in one round trip, which a prepared statement cannot be. */
async function begin(client: PoolClient): Promise<TransactionMark> {
  try {
    const results: unknown = await client.query(`BEGIN; ${transactionMark}`)
    const [, { rows }] = results as readonly [
      unknown,
      { readonly rows: readonly [TransactionMark] },
    ]
    return rows[0]
  } catch (error) {
    throw statementFailure(error)
  }
}

async function commit(client: PoolClient, mark: TransactionMark, value: unknown): Promise<void> {
  try {
    await send(client, raw('COMMIT'))
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    throw new UnansweredCommit(mark, value, error)
  }
}

async function drive<T>(client: PoolClient, verb: Verb<T>): Promise<T> {
  let step = verb.next()
  while (step.done !== true) step = verb.next(await send(client, step.value))
  return step.value
}

/**
 * The only place that reads the database's own errors, so an error of a verb never counts as one.
 */
async function send(client: PoolClient, statement: Sql): Promise<readonly Row[]> {
  try {
    const query = prepared(asOneStatement(statement))
    if (statement.answer === 'values') {
      const { rows } = await client.query<unknown[]>({ ...query, rowMode: 'array' })
      return rows as unknown as readonly Row[]
    }
    const { rows, rowCount } = await client.query<Row>(query)
    return statement.answer === 'count' ? [{ changed: rowCount }] : rows
  } catch (error) {
    throw statementFailure(error)
  }
}

/** The rows of an insert as JSON, so that one prepared statement inserts any number of them. */
function asOneStatement(statement: Sql): Sql {
  if (!(statement instanceof InsertRows)) return statement
  const { head, table, columns, json, rest } = statement
  return sql`${head} SELECT ${raw(columns.join(', '))} FROM ${rowsFromJson(table, json)} ${rest}`
}

const rowsFromJson = (table: string, json: string): Sql =>
  sql`json_populate_recordset(CAST(NULL AS ${raw(table)}), ${json})`

interface Prepared {
  readonly name: string
  readonly text: string
}

/** Stays small: there are few different texts, made of fixed parts and lists in a few sizes. */
const preparedTexts = new Map<string, Prepared>()

function prepared(statement: Sql): { name: string; text: string; values: unknown[] } {
  let found = preparedTexts.get(statement.text)
  if (found === undefined) {
    let count = 0
    const text = statement.text.replaceAll('?', () => `$${++count}`)
    found = { name: createHash('sha1').update(text).digest('base64url'), text }
    preparedTexts.set(statement.text, found)
  }
  return { ...found, values: [...statement.params] }
}
