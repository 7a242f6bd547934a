/**
 * Goal: noting a restore of a large store survives being cut off anywhere, holds no long
 * transaction, and lets nothing be sent before it is through.
 * Method: more deliveries are open than one bite takes; the noting is cut off at some statement.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../src/domain/outbox/delivery.ts'
import type { Store } from '../../src/store.ts'
import type { Driver } from '../../src/stores/driver.ts'
import { openPostgresDriver } from '../../src/stores/open-postgres.ts'
import { openSqliteDriver } from '../../src/stores/open-sqlite.ts'
import { SqlStore } from '../../src/stores/sql-store.ts'
import { withCut } from '../chaos/faulty-driver.ts'
import { migratedDatabase } from '../postgres/fresh-database.ts'
import { announced } from './outbox-hand.ts'
import { TestSubject } from './test-subject.ts'
import { seamsWith, TestClock } from './world.ts'

type OpenDriver = (clock: TestClock) => Promise<{ driver: Driver; close: () => Promise<void> }>

const onSqlite: OpenDriver = async (clock) => {
  const driver = openSqliteDriver({ path: ':memory:', exclusive: true }, seamsWith(clock))
  return { driver, close: () => driver.close() }
}

const onPostgres: OpenDriver = async (clock) => {
  const database = await migratedDatabase()
  const driver = await openPostgresDriver(database.url, seamsWith(clock))
  return {
    driver,
    close: async () => {
      await driver.close()
      await database.drop()
    },
  }
}

const open = 150
const onlyStatus = { ...announced, anchorPer: null, checkName: null } as const

describe.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const)('noting a restore on %s', (_name, openDriver) => {
  const clock = new TestClock()
  const cut = { left: -1 }
  let store: Store
  let longest = 0
  let close: () => Promise<void>
  beforeEach(async () => {
    const opened = await openDriver(clock)
    close = opened.close
    longest = 0
    const counted = withCut(counting(opened.driver), cut)
    store = new SqlStore(counted, seamsWith(clock))
    await store.recordMode('live')
    for (let n = 0; n < open; n += 1) {
      await new TestSubject({ store, clock, close }, { announcement: onlyStatus }).claim('a')
    }
    longest = 0
  })
  afterEach(async () => {
    cut.left = -1
    await close()
  })

  /** How many statements the longest transaction had. */
  function counting(driver: Driver): Driver {
    return {
      dialect: driver.dialect,
      now: () => driver.now(),
      read: (makeVerb) => driver.read(makeVerb),
      ping: () => driver.ping(),
      close: () => driver.close(),
      transact: (makeVerb, patienceMs) =>
        driver.transact(function* () {
          const verb = makeVerb()
          let step = verb.next()
          for (let count = 1; step.done !== true; count += 1) {
            longest = Math.max(longest, count)
            step = verb.next(yield step.value)
          }
          return step.value
        }, patienceMs),
    }
  }

  const all = async (): Promise<readonly Delivery[]> =>
    (await store.outbox.list({}, { limit: 1000, cursor: null })).items

  async function cutOff(statements: number): Promise<void> {
    cut.left = statements
    await expect(store.outbox.noteRestore()).rejects.toThrow()
    cut.left = -1
  }

  it('is made of short transactions', async () => {
    await store.outbox.noteRestore()
    expect((await all()).filter(({ wait }) => wait === 'in_doubt')).toHaveLength(open)
    expect(longest).toBeLessThan(open)
  })

  it.each([20, 120])('cut off at statement %d, the next process goes on', async (statements) => {
    await cutOff(statements)
    const restoredAt = await store.outbox.knowsSince()
    await store.recordMode('live')
    expect((await all()).filter(({ wait }) => wait === 'in_doubt')).toHaveLength(open)
    expect(await store.outbox.knowsSince()).toBe(restoredAt)
  })

  it('cut off, nothing is leased before it is in doubt', async () => {
    await cutOff(20)
    for (let n = 0; n < 3; n += 1) {
      for (const { delivery } of await store.outbox.lease({ limit: 200, progressMax: 0 })) {
        expect(delivery.wait).toBe('in_doubt')
      }
    }
    expect((await all()).filter(({ memo }) => memo.restored !== undefined)).toHaveLength(open)
  })
})
