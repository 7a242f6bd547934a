/**
 * The PostgreSQL driver against a real server: what it repeats, what a cut connection leads to, and
 * that it uses the server's clock, whatever this machine's clock says.
 */
import { githubDeclarations } from '../../channels/github-channels.ts'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { claimOf } from '../../../test/chaos/claims.ts'
import { freshDatabase, type TestDatabase } from '../../../test/postgres/fresh-database.ts'
import { systemClock } from '../../clock.ts'
import { ConflictError, StoreContendedError, StoreUnavailableError } from '../../errors.ts'
import { systemRandom } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import { systemScheduler } from '../../scheduler.ts'
import { LostRace } from '../driver.ts'
import { openPostgresDriver } from '../open-postgres.ts'
import type { Verb } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { SqlStore } from '../sql-store/sql-store.ts'
import type { PostgresDriver } from './postgres.ts'
import { seededChance } from '../../../test/seed.ts'

const machine = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }

let database: TestDatabase
let driver: PostgresDriver
let outside: pg.Client
const others: PostgresDriver[] = []

beforeAll(async () => {
  database = await freshDatabase()
  driver = await openPostgresDriver(database.url, machine)
  outside = new pg.Client({ connectionString: database.url })
  await outside.connect()
  await outside.query('SET search_path = holdfast')
})
afterEach(async () => {
  await Promise.all(others.splice(0).map((other) => other.close()))
  await outside.query('DELETE FROM store_state')
})
afterAll(async () => {
  await Promise.all([outside.end(), driver.close()])
  await database.drop()
})

const write = (key: string, value: string) => sql`INSERT INTO store_state (key, value)
  VALUES (${key}, ${value}) ON CONFLICT (key) DO UPDATE SET value = excluded.value`

const stored = async (): Promise<Record<string, string>> => {
  const { rows } = await outside.query<{ key: string; value: string }>('SELECT * FROM store_state')
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}

const raise = (state: string) => raw(`DO $$ BEGIN RAISE SQLSTATE '${state}'; END $$`)

describe('the driver repeats', () => {
  it('a verb that PostgreSQL ended to break a deadlock', async () => {
    await outside.query(`INSERT INTO store_state VALUES ('one', ''), ('two', '')`)
    let runs = 0
    const inOrder = (...keys: string[]) =>
      function* (): Verb<void> {
        runs++
        const name = keys.join(' then ')
        yield write(keys[0]!, name)
        if (runs <= 2) yield raw('SELECT pg_sleep(0.3)')
        yield write(keys[1]!, name)
      }
    await Promise.all([
      driver.transact(inOrder('one', 'two')),
      driver.transact(inOrder('two', 'one')),
    ])
    // On a slow machine, a wait for a lock may take too long; that is repeated, too.
    expect(runs).toBeGreaterThanOrEqual(3)
    const { one, two } = await stored()
    expect(one).toBe(two)
  })

  it.each(['40001', '40P01', '23505', '57014', '25P03', '25P04'])(
    'a verb that failed with %s, from its start',
    async (state) => {
      let runs = 0
      await driver.transact(function* () {
        runs++
        yield write(`run ${runs}`, 'written')
        if (runs < 3) yield raise(state)
      })
      expect(await stored()).toEqual({ 'run 3': 'written' })
    },
  )

  it('two inserts of one unique value at once, and the later sees the earlier', async () => {
    const once = (value: string) =>
      function* (): Verb<string> {
        const [found] = yield raw(`SELECT value FROM store_state WHERE key = 'k'`)
        if (found !== undefined) return found['value'] as string
        yield raw('SELECT pg_sleep(0.1)')
        yield sql`INSERT INTO store_state VALUES ('k', ${value})`
        return value
      }
    const [a, b] = await Promise.all([driver.transact(once('a')), driver.transact(once('b'))])
    expect(a).toBe(b)
  })

  it('a verb that lost a race', async () => {
    let runs = 0
    await driver.transact(function* () {
      yield write('k', `run ${++runs}`)
      if (runs < 5) throw new LostRace('somebody was faster')
    })
    expect(await stored()).toEqual({ k: 'run 5' })
  })

  it('a wait for a lock that took longer than its session allows', async () => {
    await outside.query('BEGIN')
    await outside.query(`INSERT INTO store_state VALUES ('k', 'held')`)
    let runs = 0
    const waiting = driver.transact(function* () {
      runs++
      yield raw(`SET LOCAL lock_timeout = '50ms'`)
      yield write('k', 'waited for')
    })
    while (runs < 3) await outside.query('SELECT pg_sleep(0.01)')
    await outside.query('COMMIT')
    await waiting
    expect(await stored()).toEqual({ k: 'waited for' })
  })

  it('only for half a minute: then the error is contended, not unavailable', async () => {
    let monotonicMs = 0
    const clock = { ...systemClock, monotonicMs: () => monotonicMs }
    const other = await openPostgresDriver(database.url, { ...machine, clock })
    others.push(other)
    let runs = 0
    const hopeless = other.transact(function* () {
      runs++
      monotonicMs += 10_000
      throw new LostRace('somebody is always faster')
    })
    await expect(hopeless).rejects.toBeInstanceOf(StoreContendedError)
    await expect(hopeless).rejects.toMatchObject({ code: 'store_contended' })
    expect(runs).toBe(3)
  })
})

it('a verb that loses every race is given up after 100 tries, each reported', async () => {
  const repeats: string[] = []
  const clock = { ...systemClock, monotonicMs: () => 0 }
  const onRepeat = (what: string) => void repeats.push(what)
  const other = await openPostgresDriver(database.url, { ...machine, clock, onRepeat })
  others.push(other)
  let runs = 0
  const hopeless = other.transact(function* () {
    runs++
    throw new LostRace('somebody is always faster')
  })
  await expect(hopeless).rejects.toMatchObject({ code: 'store_contended' })
  expect(runs).toBe(100)
  expect(repeats).toEqual([...Array.from({ length: 99 }, () => 'again'), 'given_up'])
})

describe('the driver does not repeat', () => {
  it('a refusal by Holdfast, which leaves nothing behind', async () => {
    let runs = 0
    const refused = driver.transact(function* () {
      runs++
      yield write('k', 'half done')
      throw new ConflictError('not_active', 'no')
    })
    await expect(refused).rejects.toMatchObject({ code: 'not_active' })
    expect([runs, await stored()]).toEqual([1, {}])
  })

  it('an error that is a bug, and passes it on unchanged', async () => {
    const faulty = driver.transact(function* () {
      yield raw('SELECT 1')
      throw new RangeError('our own mistake')
    })
    await expect(faulty).rejects.toBeInstanceOf(RangeError)
    await expect(driver.read(() => [raw('SELECT nothing')].values() as never)).rejects.toThrow(
      /column "nothing" does not exist/,
    )
  })
})

describe('limits that an operator set for the database', () => {
  it('do not apply: the session has its own limits', async () => {
    const limits = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
    for (const limit of [...limits, 'idle_session_timeout']) {
      await outside.query(`ALTER DATABASE ${database.name} SET ${limit} = '20ms'`)
    }
    const limited = await openPostgresDriver(database.url, machine)
    others.push(limited)
    await limited.read(() => [raw('SELECT pg_sleep(0.05)')].values() as never)
    const rows = await limited.read(function* (): Verb<readonly unknown[]> {
      return yield raw(`SELECT name, setting FROM pg_settings
        WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_session_timeout',
          'idle_in_transaction_session_timeout') ORDER BY name`)
    })
    expect(rows).toEqual([
      { name: 'idle_in_transaction_session_timeout', setting: '10000' },
      { name: 'idle_session_timeout', setting: '0' },
      { name: 'lock_timeout', setting: '5000' },
      { name: 'statement_timeout', setting: '15000' },
    ])
    for (const limit of [...limits, 'idle_session_timeout']) {
      await outside.query(`ALTER DATABASE ${database.name} RESET ${limit}`)
    }
  })

  it('mean that the server is busy, not unreachable, if they end a read', async () => {
    const cancelled = driver.read(function* (): Verb<void> {
      yield raise('57014')
    })
    await expect(cancelled).rejects.toBeInstanceOf(StoreContendedError)
  })
})

describe('a cut connection', () => {
  const cutAll = () =>
    outside.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'holdfast'`)

  /** How many connections are inside a statement that only waits. */
  const sleepers = async (): Promise<number> => {
    const { rows } = await outside.query<{ n: number }>(`SELECT count(*)::int AS n
      FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`)
    return rows[0]!.n
  }

  it('during transactions leaves nothing of them, and the pool continues to work', async () => {
    const cut = Array.from({ length: 10 }, (_, i) =>
      driver.transact(function* () {
        yield write(`k${i}`, 'half done')
        yield raw('SELECT pg_sleep(60)')
      }),
    )
    const settled = Promise.allSettled(cut)
    while ((await sleepers()) < 10) await outside.query('SELECT pg_sleep(0.01)')
    await cutAll()
    for (const result of await settled) {
      expect(result).toMatchObject({ reason: { code: 'store_unreachable' } })
    }
    expect(await stored()).toEqual({})
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => driver.transact(only(write(`k${i}`, '')))),
    )
    await driver.ping()
  })

  it('while idle is replaced: calls succeed or say unavailable, and soon all succeed', async () => {
    await Promise.all(Array.from({ length: 10 }, () => driver.transact(only(raw('SELECT 1')))))
    await cutAll()
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => driver.transact(only(raw('SELECT 1')))),
    )
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StoreUnavailableError)
    }
    await driver.transact(only(write('k', 'after')))
    await driver.ping()
    expect(await stored()).toEqual({ k: 'after' })
  })

  function only(statement: ReturnType<typeof raw>) {
    return function* (): Verb<void> {
      yield statement
    }
  }
})

describe('the clock', () => {
  /** The tolerance: a busy machine is less exact, but a mistake is 5 s or more. */
  const nearMs = 2000
  const serverNow = async (): Promise<number> => {
    const { rows } = await outside.query<{ now: number }>(
      `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`,
    )
    return rows[0]!.now
  }

  /** A node with other clocks, whose background work the test starts. */
  async function openNode(offsetMs: number) {
    let skewMs = offsetMs
    let sleptMs = 0
    const tasks: (() => void)[] = []
    const scheduler: Scheduler = {
      ...systemScheduler,
      afterInBackground: (_ms, task) => {
        tasks.push(task)
        return () => undefined
      },
    }
    const clock = {
      wallMs: () => systemClock.wallMs() + skewMs,
      monotonicMs: () => systemClock.monotonicMs() + skewMs - sleptMs,
    }
    const node = await openPostgresDriver(database.url, {
      clock,
      scheduler,
      random: seededChance(),
    })
    others.push(node)
    const jump = (ms: number): void => void (skewMs += ms)
    /** As on a suspended machine: its monotonic clock does not move meanwhile. */
    const sleep = (ms: number): void => void (sleptMs += ms)
    return { node, jump, sleep, measure: () => tasks.shift()!(), measures: tasks }
  }

  it('is the server’s on nodes whose clocks differ by a minute', async () => {
    const [ahead, behind] = await Promise.all([openNode(60_000), openNode(-60_000)])
    expect(Math.abs(ahead.node.now() - behind.node.now())).toBeLessThan(nearMs)
    expect(Math.abs(ahead.node.now() - (await serverNow()))).toBeLessThan(nearMs)
  })

  it('lets no other node take a lease early, however the nodes’ clocks differ', async () => {
    const nodes = await Promise.all([openNode(-60_000), openNode(60_000)])
    const [slow, fast] = nodes.map(
      ({ node }) =>
        new SqlStore(node, {
          random: systemRandom,
          scheduler: systemScheduler,
          channels: githubDeclarations,
        }),
    )
    const claim = (secret: string) =>
      claimOf({ pr: 1, head: 'a', secret, leaseMs: 700, actor: secret, now: slow!.now() })
    const held = await slow!.runs.claim(claim('first'), null)
    let answer = await fast!.runs.claim(claim('second'), null)
    expect(answer.reason).toBe('duplicate')
    while (answer.reason === 'duplicate') answer = await fast!.runs.claim(claim('second'), null)
    expect(answer.reason).toBe('reclaimed')
    expect(fast!.now()).toBeGreaterThanOrEqual(held.lease!.expiresAt - 50)
    expect(answer.run!.fence).toBeGreaterThan(held.run!.fence)
  })

  it('that was not compared for long is unknown, and the store is not ready', async () => {
    const { node, jump, measure, measures } = await openNode(0)
    await node.ping()
    jump(91_000)
    await expect(node.ping()).rejects.toMatchObject({ code: 'store_clock_unknown' })
    measure()
    while (measures.length === 0) await outside.query('SELECT pg_sleep(0.01)')
    await node.ping()
    expect(Math.abs(node.now() - (await serverNow()))).toBeLessThan(nearMs)
  })

  it('is compared again before a machine that slept uses it', async () => {
    const { node, sleep } = await openNode(0)
    const now = () =>
      node.transact(function* (): Verb<number> {
        yield raw('SELECT 1')
        return node.now()
      })
    sleep(600_000)
    expect(Math.abs((await now()) - (await serverNow()))).toBeLessThan(nearMs)
    sleep(600_000)
    await node.ping()
    expect(Math.abs(node.now() - (await serverNow()))).toBeLessThan(nearMs)
  })

  it('makes a verb start again if the machine slept in the middle of it', async () => {
    const { node, sleep } = await openNode(0)
    let runs = 0
    const decidedAt = await node.transact(function* (): Verb<number> {
      runs++
      yield write('k', `run ${runs}`)
      if (runs === 1) sleep(600_000)
      return node.now()
    })
    expect([runs, await stored()]).toEqual([2, { k: 'run 2' }])
    expect(Math.abs(decidedAt - (await serverNow()))).toBeLessThan(nearMs)
  })

  it('is right even if every connection was in use while it was compared', async () => {
    const { node, jump, measure, measures } = await openNode(0)
    const load = Array.from({ length: 10 }, () =>
      node.transact(function* () {
        yield raw('SELECT pg_sleep(1)')
      }),
    )
    jump(5000)
    measure()
    while (measures.length === 0) await outside.query('SELECT pg_sleep(0.01)')
    await Promise.all(load)
    expect(Math.abs(node.now() - (await serverNow()))).toBeLessThan(nearMs)
  })
})
