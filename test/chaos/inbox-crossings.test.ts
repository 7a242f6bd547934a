/**
 * Goal: two processes that work on one lane of webhooks at the same time give the same result as
 * one after the other, also where PostgreSQL commits in another order than the work began.
 * Method: two stores on one database; a statement of one store is held at a gate while the other
 * store continues.
 */
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { InboxEntry } from '../../src/domain/inbox.ts'
import type { NewWebhook, Store, WebhookAct } from '../../src/store.ts'
import { claiming, decided, newWebhook } from '../conformance/inbox/webhooks.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { until } from '../scenarios/until.ts'
import { claimOf } from './claims.ts'
import { withGates } from './faulty-driver.ts'
import { openDriver, openStore, storeOver } from './open-store.ts'

const pr = 7
const lane = `42#${pr}`
/** The numbers of the advisory locks that serve as gates. */
const [receiving, claims, settling] = [1, 2, 3]

let database: Awaited<ReturnType<typeof freshDatabase>>
let here: Store
let there: Store
let gates: pg.Client
beforeEach(async () => {
  database = await freshDatabase()
  const at = { kind: 'postgres', url: database.url } as const
  here = await openStore(at)
  there = storeOver(
    withGates(await openDriver(at), [
      [/^INSERT INTO inbox_body/, receiving],
      [/^INSERT INTO subject \(id, type/, claims],
      [/^UPDATE inbox SET state/, settling],
    ]),
  )
  gates = new pg.Client({ connectionString: database.url })
  await gates.connect()
})
afterEach(async () => {
  await gates.end()
  await here.close()
  await there.close()
  await database.drop()
})

const shut = (gate: number) => gates.query('SELECT pg_advisory_lock($1)', [gate])
const open = (gate: number) => gates.query('SELECT pg_advisory_unlock($1)', [gate])

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

const webhook = (second: number, over: Partial<NewWebhook> = {}): NewWebhook =>
  newWebhook({ lane, number: pr, eventAt: second * 1000, prState: 'open', ...over })
const closed = (second: number): NewWebhook =>
  webhook(second, { action: 'closed', prState: 'closed' })

const receive = async (store: Store, what: NewWebhook): Promise<InboxEntry> =>
  (await store.inbox.receive(what)).entry

const claim = (head: string, second: number): WebhookAct =>
  claiming(
    claimOf({
      ...{ pr, head, eventAt: second * 1000, webhookId: `of ${head}` },
      ...{ secret: null, leaseMs: 60_000, actor: 'test', now: here.now() },
    }),
  )
const cancel: WebhookAct = { act: 'cancel', type: 'review', repo: 'octo/hello', pr }

async function activeHeads(): Promise<readonly string[]> {
  const { items } = await here.runs.list({ pr }, { limit: 100, cursor: null })
  return items.filter(({ state }) => state === 'pending').map(({ id }) => id)
}

it('a push at the same time as the closing of its pull request leaves no active run', async () => {
  await here.inbox.finish(decided(await receive(here, webhook(1)), claim('a', 1)))
  await shut(receiving)
  const receivingClosed = receive(there, closed(3))
  await reached(receiving)
  const pushed = await receive(here, webhook(2))
  await shut(claims)
  const settlingPush = there.inbox.finish(decided(pushed, claim('b', 2)))
  await reached(claims)
  await open(receiving)
  const closing = await here.inbox.finish(decided(await receivingClosed, cancel))
  expect(closing.result).toBe('finished')
  await open(claims)
  expect((await settlingPush).entry?.outcomes).toMatchObject([{ reason: 'closed-since' }])
  expect(await activeHeads()).toEqual([])
})

it('a pull request that is opened and closed at once leaves no active run', async () => {
  await shut(receiving)
  const receivingClosed = receive(there, closed(3))
  await reached(receiving)
  const opened = await receive(here, webhook(2))
  await shut(settling)
  const settlingOpened = there.inbox.finish(decided(opened, claim('a', 2)))
  await reached(settling)
  await open(receiving)
  const settlingClosed = here.inbox.finish(decided(await receivingClosed, cancel))
  // It must wait for the other process. If it ends here, it found nothing to cancel: that is the
  // bug.
  await Promise.race([settlingClosed, lockIsWaitedFor()])
  await open(settling)
  await settlingOpened
  expect((await settlingClosed).cancelled).toHaveLength(1)
  expect(await activeHeads()).toEqual([])
})

/** Resolves when a transaction waits for a row that another one has locked. */
const lockIsWaitedFor = () =>
  until(
    () => gates.query(`SELECT 1 FROM pg_locks WHERE locktype <> 'advisory' AND NOT granted`),
    ({ rowCount }) => Number(rowCount) > 0,
  )
