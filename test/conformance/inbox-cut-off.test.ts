/**
 * Goal: a verb of the inbox that is cut off at any of its statements has done nothing at all: the
 * run, the end of the wait and the audit rows of both come together or not.
 * Method: each verb is cut off at its first statement, then at its second, and so on until it gets
 * through; what the store shows must be as before until then.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemRandom } from '../../src/random.ts'
import type { Store } from '../../src/store.ts'
import type { Driver } from '../../src/stores/driver.ts'
import { openPostgresDriver } from '../../src/stores/open-postgres.ts'
import { openSqliteDriver } from '../../src/stores/open-sqlite.ts'
import { SqlStore } from '../../src/stores/sql-store.ts'
import { withCut } from '../chaos/faulty-driver.ts'
import { migratedDatabase } from '../postgres/fresh-database.ts'
import { TestSubject } from './test-subject.ts'
import { claiming, decided, newWebhook, received } from './webhooks.ts'
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

describe.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const)('cut off anywhere on %s', (_name, open) => {
  const clock = new TestClock()
  const cut = { left: -1 }
  let store: Store
  let close: () => Promise<void>
  beforeEach(async () => {
    const opened = await open(clock)
    close = opened.close
    const { random, scheduler } = { ...seamsWith(clock), random: systemRandom }
    store = new SqlStore(withCut(opened.driver, cut), { random, scheduler })
  })
  afterEach(() => close())

  async function shown(): Promise<string> {
    const page = { limit: 1000, cursor: null }
    const inbox = await store.listInbox({}, page)
    const runs = await store.listRuns({}, page)
    const audit = await store.listAudit({}, page)
    return JSON.stringify([inbox.items, runs.items, audit.items])
  }

  /** Answers how many statements it took. */
  async function cutEverywhere(verb: () => Promise<unknown>): Promise<number> {
    const before = await shown()
    for (let at = 0; ; at++) {
      cut.left = at
      const done = await verb().then(
        () => true,
        () => false,
      )
      cut.left = -1
      if (done) return at
      expect(await shown()).toBe(before)
    }
  }

  it('receiving stores nothing, and what is sent again is new', async () => {
    const webhook = newWebhook({ eventKey: 'event' })
    expect(await cutEverywhere(() => store.receiveWebhook(webhook))).toBeGreaterThan(2)
    expect(await store.inboxEntry(webhook.webhookId)).toMatchObject({ decision: 'accepted' })
  })

  it('settling does nothing and leaves the entry waiting', async () => {
    const subject = new TestSubject({ store, clock, close })
    await subject.claim('a', { eventAt: 1 })
    const other = new TestSubject({ store, clock, close })
    await other.claim('a', { eventAt: 1 })
    const entry = await received(store, { eventAt: 2 })
    const acts = [
      claiming(subject.claimOf('b', { eventAt: 2 })),
      { act: 'cancel', type: other.type, repo: other.repo, pr: 5 },
    ] as const
    const took = await cutEverywhere(() => store.settleWebhook(decided(entry, ...acts)))
    expect(took).toBeGreaterThan(10)
    expect([await subject.state('a'), await subject.state('b')]).toEqual(['superseded', 'pending'])
    expect(await other.state('a')).toBe('cancelled')
    expect(await store.inboxEntry(entry.id)).toMatchObject({ state: 'processed' })
  })

  it('postponing and replaying change nothing', async () => {
    const entry = await received(store)
    await cutEverywhere(() => store.postponeWebhook(entry.id, store.now() + 5, 'why'))
    await store.settleWebhook(decided(entry))
    await cutEverywhere(() => store.replayWebhook(entry.id, 'operator', null))
    expect(await store.inboxEntry(entry.id)).toMatchObject({ state: 'waiting', tries: 0 })
  })
})
