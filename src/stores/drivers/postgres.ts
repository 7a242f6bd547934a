/**
 * The PostgreSQL driver: a pool, READ COMMITTED transactions, and the server's clock.
 *
 * What must hold: deadlocks, serialisation failures, unique violations between concurrent inserts
 * and lost compare-and-sets run the verb again from its start. A connection
 * lost during COMMIT is reported as unavailable, because nobody can know whether it committed.
 */
import { createHash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { StoreUnavailableError } from '../../errors.ts'
import type { Random } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import type { Driver } from '../driver.ts'
import { LostRace } from '../driver.ts'
import type { Row, Sql, Verb } from '../sql.ts'
import { raw } from '../sql.ts'
import type { ServerClock } from './postgres-clock.ts'
import { isRepeatable, mapPostgresError } from './postgres-errors.ts'

const triesMax = 20
const pauseMsMax = 50

export interface PostgresDriverOptions {
  readonly pool: Pool
  readonly clock: ServerClock
  readonly scheduler: Scheduler
  readonly random: Random
}

export class PostgresDriver implements Driver {
  readonly dialect = {
    name: 'postgres',
    lockFree: (table: string) => raw(`FOR UPDATE OF ${table} SKIP LOCKED`),
  } as const
  readonly #options: PostgresDriverOptions

  constructor(options: PostgresDriverOptions) {
    this.#options = options
  }

  now(): number {
    return this.#options.clock.now()
  }

  async transact<T>(makeVerb: () => Verb<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once(makeVerb)
      } catch (error) {
        const again = error instanceof LostRace || isRepeatable(error)
        if (!again || tries >= triesMax) throw mapPostgresError(error)
        const { random, scheduler } = this.#options
        await delay(scheduler, random.below(Math.min(pauseMsMax, 2 ** tries)))
      }
    }
  }

  async read<T>(makeVerb: () => Verb<T>): Promise<T> {
    try {
      const verb = makeVerb()
      return await drive(verb, (statement) => this.#options.pool.query(prepared(statement)))
    } catch (error) {
      throw mapPostgresError(error)
    }
  }

  async ping(): Promise<void> {
    if (!this.#options.clock.isKnown()) {
      throw new StoreUnavailableError('store_clock_unknown', "the database's clock is not known")
    }
    await this.read(function* () {
      yield raw('SELECT 1')
    })
  }

  async close(): Promise<void> {
    await this.#options.clock.stop()
    await this.#options.pool.end()
  }

  async #once<T>(makeVerb: () => Verb<T>): Promise<T> {
    const client = await this.#options.pool.connect()
    let broken: Error | undefined
    const onError = (error: Error): void => void (broken = error)
    client.on('error', onError)
    try {
      await client.query('BEGIN')
      const value = await drive(makeVerb(), (statement) => client.query(prepared(statement)))
      await client.query('COMMIT')
      return value
    } catch (error) {
      await rollback(client).catch((cause: unknown) => {
        broken ??= cause instanceof Error ? cause : new Error('rollback failed')
      })
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }
}

async function rollback(client: PoolClient): Promise<void> {
  await client.query('ROLLBACK')
}

async function drive<T>(
  verb: Verb<T>,
  query: (statement: Sql) => Promise<{ rows: Row[] }>,
): Promise<T> {
  let step = verb.next()
  while (step.done !== true) {
    const { rows } = await query(step.value)
    step = verb.next(rows)
  }
  return step.value
}

interface Prepared {
  readonly name: string
  readonly text: string
}

/** Our own texts only, and few of them: statements are built from fixed fragments. */
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
