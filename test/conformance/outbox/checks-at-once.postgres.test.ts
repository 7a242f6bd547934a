/**
 * Goal: two pull requests share a commit, and on PostgreSQL their check runs are stored at the same
 * time. GitHub shows the newest check run: it must belong to the run whose result counts, although
 * neither transaction can see what the other has written.
 * Method: the test locks the table of runs until both have written their check run and ask about
 * the other.
 */
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import type { SqlStore } from '../../../src/stores/sql-store/sql-store.ts'
import { openPostgres } from '../../../src/stores/open-postgres.ts'
import { migratedDatabase, type TestDatabase } from '../../postgres/fresh-database.ts'
import { completion, policy, pullRequestClaim, unique } from '../claims.ts'
import { announced, ManualPublisher, sentEnd } from './manual-publisher.ts'
import { machineWith, second, TestClock } from '../world.ts'

const page = { limit: 100, cursor: null }
const onlyCheck = { ...announced, anchorPer: null, statusContext: null }

let database: TestDatabase
let stores: readonly [SqlStore, SqlStore]
let holder: pg.Client
let clock: TestClock

beforeEach(async () => {
  clock = new TestClock()
  database = await migratedDatabase()
  const open = () => clock.whileOpening(() => openPostgres(database.url, machineWith(clock)))
  stores = [await open(), await open()]
  holder = new pg.Client({ connectionString: database.url })
  await holder.connect()
})
afterEach(async () => {
  await holder.end()
  for (const store of stores) await store.close()
  await database.drop()
})

const claim = (repo: string, pr: number): Promise<ClaimAnswer> => {
  const own = { policy: { ...policy, announcement: onlyCheck } }
  return stores[0].runs.claim(pullRequestClaim({ repo, pr, head: 'a' }, own), null)
}

/** Resolves when both ask for runs, or wait for each other; then releases the lock. */
async function together(both: () => readonly Promise<unknown>[]): Promise<void> {
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE holdfast.run')
  const asked = both()
  for (;;) {
    const { rowCount } = await holder.query(
      `SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    if (rowCount === asked.length) break
  }
  await holder.query('COMMIT')
  await Promise.all(asked)
}

it('the newest check run belongs to the run that counts, whichever is written first', async () => {
  for (let turn = 0; turn < 5; turn += 1) {
    const repo = unique('acme/repo')
    const [five, six] = [await claim(repo, 5), await claim(repo, 6)]
    for (const held of [five, six]) await stores[0].runs.complete(completion(held), null)
    const publishers = stores.map((store) => new ManualPublisher({ store }))
    const due = await publishers[0]!.lease()
    const check = (of: ClaimAnswer) => due.find(({ delivery }) => delivery.runId === of.run?.id)!
    const begun = [await publishers[0]!.begun(check(five)), await publishers[1]!.begun(check(six))]
    // The check run whose result counts is answered first, and so has the lower id.
    const [sixth, fifth] = [sentEnd(), sentEnd()]
    await together(() => [
      publishers[0]!.end(check(five), begun[0]!, fifth),
      publishers[1]!.end(check(six), begun[1]!, sixth),
    ])
    clock.move(second)
    await publishers[0]!.publish()
    const { items } = await stores[0].outbox.list({ channel: 'github-check' }, page)
    const ofCommit = items.filter(({ runId }) => runId === five.run?.id || runId === six.run?.id)
    const idOf = ({ providerId }: Delivery) => Number(providerId)
    const newest = ofCommit.toSorted((a, b) => idOf(b) - idOf(a))[0]
    expect(newest?.runId).toBe(six.run?.id)
  }
})
