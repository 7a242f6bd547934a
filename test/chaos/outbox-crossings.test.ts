/**
 * Goal: a publisher and a run that change one delivery at the same moment give the same result as
 * one after the other: no version is sent that was replaced before its attempt was stored, and no
 * newer version is closed by the outcome of an older one.
 * Method: two stores on one PostgreSQL database; a statement of one store is held at a gate while
 * the other store continues.
 */
import { allRights } from '../../src/channels/github-channels.ts'
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Store } from '../../src/store.ts'
import { completion, holderOf } from '../conformance/claims.ts'
import {
  announced,
  contentOf,
  ManualPublisher,
  sentEnd,
} from '../conformance/outbox/manual-publisher.ts'
import { TestSubject } from '../conformance/test-subject.ts'
import { TestClock } from '../conformance/world.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { until } from '../scenarios/until.ts'
import { withGates } from './faulty-driver.ts'
import { openDriver, openStore, storeOver } from './open-store.ts'

/** The numbers of the advisory locks that serve as gates. */
const [attempts, outcomes, deliveries, budgets, inserts, audits] = [1, 2, 3, 4, 5, 6]

let database: Awaited<ReturnType<typeof freshDatabase>>
let here: Store
let there: Store
let gates: pg.Client
let held: Awaited<ReturnType<TestSubject['claim']>>
const shutNow = new Set<number>()
beforeEach(async () => {
  database = await freshDatabase()
  const at = { kind: 'postgres', url: database.url } as const
  here = await openStore(at)
  there = storeOver(
    withGates(await openDriver(at), [
      [/^INSERT INTO delivery_attempt/, attempts],
      [/^UPDATE delivery_attempt/, outcomes],
      [/^UPDATE delivery SET/, deliveries],
      [/^INSERT INTO budget/, budgets],
      [/^INSERT INTO delivery \(/, inserts],
      [/^INSERT INTO audit/, audits],
    ]),
  )
  gates = new pg.Client({ connectionString: database.url })
  await gates.connect()
  const announcement = { ...announced, statusContext: null, checkName: null }
  const world = { store: here, clock: new TestClock(), close: async () => undefined }
  held = await new TestSubject(world, { announcement }).claim('a')
})
afterEach(async () => {
  for (const gate of shutNow) await open(gate)
  await gates.end()
  await here.close()
  await there.close()
  await database.drop()
})

async function shut(gate: number): Promise<void> {
  await gates.query('SELECT pg_advisory_lock($1)', [gate])
  shutNow.add(gate)
}
async function open(gate: number): Promise<void> {
  shutNow.delete(gate)
  await gates.query('SELECT pg_advisory_unlock($1)', [gate])
}

/** Resolves when a statement waits at the gate. */
const reached = (gate: number) =>
  until(
    () =>
      gates.query(
        `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1`,
        [gate],
      ),
    ({ rowCount }) => rowCount === 1,
  )

const report = (text: string) => {
  const { runId, leaseHash } = holderOf(held)
  return here.runs.reportStatus({ runId, leaseHash, text, actor: 'test' }, null)
}
const anchor = () => new ManualPublisher({ store: here }).named(held.run!.id, 'anchor')

it('a report during the storing of an attempt prevents sending the old version', async () => {
  const publisher = new ManualPublisher({ store: there })
  const leased = await publisher.leaseNamed('anchor')
  await shut(attempts)
  const beginning = publisher.begin(leased)
  await reached(attempts)
  await report('newer')
  await open(attempts)
  expect(await beginning).toEqual({ result: 'changed' })
  const { id, versionSeq, attemptId } = await anchor()
  expect({ versionSeq, attemptId }).toEqual({ versionSeq: 2, attemptId: null })
  expect(await here.outbox.attemptsOf(id)).toEqual([])
  // A version that was not sent took nothing from the budget.
  const [budget] = await here.outbox.budgets()
  expect(budget?.seconds ?? []).toEqual([])
})

it('a run that ends while an outcome is stored: the outcome closes only its version', async () => {
  const publisher = new ManualPublisher({ store: there })
  const leased = await publisher.leaseNamed('anchor')
  const attempt = await publisher.begun(leased)
  await shut(outcomes)
  const ending = publisher.end(leased, attempt, sentEnd({ providerId: '7' }))
  await reached(outcomes)
  await here.runs.complete(completion(held), null)
  await open(outcomes)
  expect(await ending).toBe('recorded')
  const after = await anchor()
  expect(after).toMatchObject({ status: 'PENDING', final: true, sentSeq: 1, providerId: '7' })
  expect(contentOf(after).view.state).toBe('succeeded')
})

it('a delivery that another process is leasing is skipped, not waited for', async () => {
  await shut(deliveries)
  const taking = there.outbox.lease({ limit: 5, progressMax: 5 })
  await reached(deliveries)
  expect(await here.outbox.lease({ limit: 5, progressMax: 5 })).toEqual([])
  await open(deliveries)
  expect(await taking).toHaveLength(1)
})

it('an operator decides while a delivery is being sent: the outcome comes too late', async () => {
  const publisher = new ManualPublisher({ store: there })
  const leased = await publisher.leaseNamed('anchor')
  const attempt = await publisher.begun(leased)
  await shut(outcomes)
  const ending = publisher.end(leased, attempt, sentEnd())
  await reached(outcomes)
  await here.outbox.confirm(leased.delivery.id, '99', 'ann', null)
  await open(outcomes)
  expect(await ending).toBe('late')
  expect(await anchor()).toMatchObject({ status: 'SENT', providerId: '99' })
})

const silent = { ...announced, anchorPer: null, statusContext: null, checkName: null }

/** A run with one comment that is being sent, and how to publish the next one. */
async function sendingOne(publisher: Store) {
  const world = { store: here, clock: new TestClock(), close: async () => undefined }
  const { runId, leaseHash } = holderOf(
    await new TestSubject(world, { announcement: silent }).claim('a'),
  )
  const publish = (store: Store, name: string) => {
    const output = {
      name,
      channel: 'github-comment',
      content: { form: 'text', body: name },
    } as const
    const request = { runId, leaseHash, actor: 'test', ...output, rightsOf: () => allRights }
    return store.outbox.publish(request, null)
  }
  await publish(here, 'c1')
  const sending = new ManualPublisher({ store: publisher })
  const leased = await sending.leaseNamed('c1')
  const attempt = await sending.begun(leased)
  return { publish, end: () => sending.end(leased, attempt, sentEnd()) }
}

/** Resolves when a transaction waits for a lock of another one. */
const blocked = () =>
  until(
    () => gates.query(`SELECT 1 FROM pg_locks WHERE locktype <> 'advisory' AND NOT granted`),
    ({ rowCount }) => rowCount !== 0,
  )

it('the next comment is due when its publishing begins before the close of the first', async () => {
  const { publish, end } = await sendingOne(here)
  await shut(inserts)
  const publishing = publish(there, 'c2')
  await reached(inserts)
  const ending = end()
  await Promise.race([ending, blocked()])
  await open(inserts)
  await Promise.all([publishing, ending])
  expect((await new ManualPublisher({ store: here }).leaseNamed('c2')).delivery.wait).toBe('due')
})

it('the next comment is due when its publishing begins during the close of the first', async () => {
  const { publish, end } = await sendingOne(there)
  await shut(audits)
  const ending = end()
  await reached(audits)
  const publishing = publish(here, 'c2')
  await Promise.race([publishing, blocked()])
  await open(audits)
  await Promise.all([publishing, ending])
  expect((await new ManualPublisher({ store: here }).leaseNamed('c2')).delivery.wait).toBe('due')
})

it('of two writes that ask for the last write of a budget at once, one gets it', async () => {
  const announcement = { ...announced, anchorPer: null, checkName: null }
  const world = { store: here, clock: new TestClock(), close: async () => undefined }
  await new TestSubject(world, { announcement }).claim('a')
  const publisher = new ManualPublisher({ store: there })
  const [one, other] = await publisher.lease()
  const limits = { spacingMs: 0, perMinute: 1, perHour: 0 }
  await shut(budgets)
  const first = publisher.begin(one!, { limits })
  await reached(budgets)
  const second = new ManualPublisher({ store: here }).begin(other!, { limits })
  await second
  await open(budgets)
  const results = (await Promise.all([first, second])).map(({ result }) => result)
  expect(results.toSorted()).toEqual(['begun', 'budget'])
})
