/**
 * The PostgreSQL driver: a pool, READ COMMITTED transactions, and the server's clock.
 *
 * What must hold: deadlocks, serialisation failures, unique violations between concurrent inserts
 * and lost compare-and-sets run the verb again from its start. When a connection
 * is lost during COMMIT the server is asked what became of it: see `postgres-commit`.
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
import { raw } from '../sql.ts'
import { clockUnknown, type ServerClock } from './postgres-clock.ts'
import { fateOf, transactionId, UnansweredCommit } from './postgres-commit.ts'
import { connectFailure, contended, endsSession, statementFailure } from './postgres-errors.ts'

/** Above the session's lock timeout, so that a lock is waited for more than once. */
const patienceMs = 30_000
const pauseMsMax = 50
/** What loses its race so often loses every race: a clock is not needed to see that. */
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
    auditOrder: raw('seq'),
    placesAudits: true,
    statementsTravel: true,
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
      // It took longer than its session may: the server is there, and busy.
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
    // A connection that breaks while it is ours must not be an uncaught exception.
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
  await send(client, raw('BEGIN'))
  try {
    const value = await drive(client, verb)
    // The machine slept meanwhile: what was decided was decided by a time of before.
    if (!isSteady()) throw new LostRace('the clock has to be measured again')
    const [row] = await send(client, transactionId)
    await commit(client, row?.['id'] as string | null, value)
    return value
  } catch (error) {
    // Fails only on a connection that is gone, and with it the transaction.
    await send(client, raw('ROLLBACK')).catch(() => undefined)
    throw error
  }
}

async function commit(client: PoolClient, id: string | null, value: unknown): Promise<void> {
  try {
    await send(client, raw('COMMIT'))
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    throw new UnansweredCommit(id, value, error)
  }
}

async function drive<T>(client: PoolClient, verb: Verb<T>): Promise<T> {
  let step = verb.next()
  while (step.done !== true) step = verb.next(await send(client, step.value))
  return step.value
}

/** The only place where the database's own errors are read: what a verb throws is not one. */
async function send(client: PoolClient, statement: Sql): Promise<readonly Row[]> {
  try {
    const { rows } = await client.query<Row>(prepared(statement))
    return rows
  } catch (error) {
    throw statementFailure(error)
  }
}

interface Prepared {
  readonly name: string
  readonly text: string
}

/** Our own texts only, and few of them: fixed fragments, and lists in a few sizes. */
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
