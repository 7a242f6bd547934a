/**
 * Goal: a verb that is cut off at any of its statements has done nothing at all: the run's change,
 * what has to be shown for it, the attempt, the budget and the audit rows come together or not.
 * Method: each verb is cut off at its first statement, then at its second, and so on until it gets
 * through; what the store shows must be as before until then, and the audit must tell of it after.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { allRights } from '../../src/domain/outbox/publish-rights.ts'
import { systemRandom } from '../../src/random.ts'
import type { ClaimAnswer, Store } from '../../src/store.ts'
import type { Driver } from '../../src/stores/driver.ts'
import { openPostgresDriver } from '../../src/stores/open-postgres.ts'
import { openSqliteDriver } from '../../src/stores/open-sqlite.ts'
import { SqlStore } from '../../src/stores/sql-store.ts'
import { withCut } from '../chaos/faulty-driver.ts'
import { migratedDatabase } from '../postgres/fresh-database.ts'
import { completion, holderOf } from './claims.ts'
import { announced, OutboxHand, sentEnd } from './outbox-hand.ts'
import { TestSubject } from './test-subject.ts'
import { hour, seamsWith, TestClock } from './world.ts'

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
] as const)('publishing cut off anywhere on %s', (_name, open) => {
  const clock = new TestClock()
  const cut = { left: -1 }
  let store: Store
  let hand: OutboxHand
  let close: () => Promise<void>
  beforeEach(async () => {
    const opened = await open(clock)
    close = opened.close
    const { random, scheduler } = { ...seamsWith(clock), random: systemRandom }
    store = new SqlStore(withCut(opened.driver, cut), { random, scheduler })
    hand = new OutboxHand(store)
  })
  afterEach(() => close())

  const page = { limit: 1000, cursor: null }
  const subject = () =>
    new TestSubject({ store, clock, close: async () => undefined }, { announcement: announced })

  async function shown(): Promise<{ readonly all: string; readonly audits: number }> {
    const { items: deliveries } = await store.outbox.list({}, page)
    const attempts = await Promise.all(deliveries.map(({ id }) => store.outbox.attemptsOf(id)))
    const runs = await store.listRuns({}, page)
    const audit = await store.listAudit({}, page)
    const budgets = await store.outbox.budgets()
    const all = JSON.stringify([deliveries, attempts, runs.items, audit.items, budgets])
    return { all, audits: audit.items.length }
  }

  /** `tells`: how many audit rows it leaves once it gets through. */
  async function cutEverywhere(tells: number, verb: () => Promise<unknown>): Promise<void> {
    const before = await shown()
    for (let at = 0; ; at++) {
      cut.left = at
      const done = await verb().then(
        () => true,
        () => false,
      )
      cut.left = -1
      const after = await shown()
      if (done) {
        expect(at).toBeGreaterThan(1)
        expect(after.all).not.toBe(before.all)
        expect(after.audits - before.audits).toBe(tells)
        return
      }
      expect(after.all).toBe(before.all)
    }
  }

  async function running(): Promise<{ readonly of: TestSubject; readonly held: ClaimAnswer }> {
    const of = subject()
    const held = await of.claim('a')
    await hand.publish()
    return { of, held }
  }

  it('a claim', async () => {
    const of = subject()
    await cutEverywhere(1, () => of.claim('a'))
    expect((await store.outbox.list({}, page)).items).toHaveLength(3)
  })

  it('a claim that takes over from the one before, with its comment', async () => {
    const { of } = await running()
    await cutEverywhere(3, () => of.claim('b'))
    expect((await store.outbox.list({ status: 'PENDING' }, page)).items).toHaveLength(5)
  })

  it('a report', async () => {
    const { held } = await running()
    const { runId, leaseHash } = holderOf(held)
    const report = { runId, leaseHash, text: 'reading', actor: 'test' }
    await cutEverywhere(1, () => store.reportStatus(report, null))
  })

  it('an end', async () => {
    const { held } = await running()
    await cutEverywhere(1, () => store.completeRun(completion(held), null))
    expect((await store.outbox.list({ status: 'PENDING' }, page)).items).toHaveLength(3)
  })

  it('an end that is nobody’s: the sweeper’s', async () => {
    const { held } = await running()
    clock.move(12 * hour)
    await cutEverywhere(1, () => store.sweepRun(held.run!.id))
  })

  it('something of the run’s own', async () => {
    const { held } = await running()
    const { runId, leaseHash } = holderOf(held)
    const content = { form: 'text', body: 'Found three.' }
    const rightsOf = () => allRights
    const request = { runId, leaseHash, actor: 'test', name: 'own', content, rightsOf }
    // The delivery itself is the record; it is told of when it is sent.
    await cutEverywhere(0, () =>
      store.outbox.publish({ ...request, channel: 'github-comment' }, null),
    )
  })

  it('an attempt, from its lease to its outcome', async () => {
    await subject().claim('a')
    await cutEverywhere(0, () => hand.lease())
    clock.move(hour)
    const [leased] = await hand.lease()
    // The attempt and the write it takes from the budget.
    await cutEverywhere(0, () => hand.begin(leased!))
    const [attempt] = await store.outbox.attemptsOf(leased!.delivery.id)
    const told = leased!.delivery.name === 'anchor' ? 2 : 1
    await cutEverywhere(told, () => hand.end(leased!, attempt!, sentEnd()))
  })

  it('the lease of one whose holder was lost', async () => {
    await subject().claim('a')
    for (const leased of await hand.lease()) await hand.begun(leased)
    clock.move(hour)
    await cutEverywhere(3, () => hand.lease())
  })

  it('a limit: the block and the delivery that ran into it', async () => {
    await subject().claim('a')
    const leased = await hand.leaseNamed('status')
    const attempt = await hand.begun(leased)
    const trouble = { code: 'rate_limited', text: 'slow down' }
    const end = { what: 'rate_limited', until: store.now() + hour, trouble } as const
    await cutEverywhere(1, () => hand.end(leased, attempt, end))
  })

  it('what an operator says', async () => {
    const { held } = await running()
    await store.completeRun(completion(held), null)
    const { id } = await hand.named(held.run!.id, 'status')
    await cutEverywhere(1, () => store.outbox.skip(id, 'not here', 'ann', null))
    await cutEverywhere(1, () => store.outbox.retry(id, 'ann', null))
    await cutEverywhere(1, () => store.outbox.confirm(id, '9', 'ann', null))
  })
})
