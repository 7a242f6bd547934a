/**
 * Goal: a moved store is the same store. Holders keep their leases, tokens work, known keys are
 * known, and whatever is new comes after what was there.
 * Method: fill a SQLite store through its own verbs, move it, and ask both.
 */
import { expect, it } from 'vitest'
import { explain } from '../../src/audit/why.ts'
import { systemClock, type Clock } from '../../src/clock.ts'
import type { Store } from '../../src/store.ts'
import { hashSecret } from '../../src/secrets.ts'
import {
  completion,
  grant,
  holderOf,
  jobClaim,
  leaseMs,
  leaseRequest,
} from '../conformance/claims.ts'
import { newWebhook } from '../conformance/inbox/webhooks.ts'
import { ManualPublisher } from '../conformance/outbox/manual-publisher.ts'
import { minute } from '../conformance/world.ts'
import { fillStore, pull } from './filled-store.ts'
import { useMoveWorld } from './move-world.ts'

const world = useMoveWorld()
const everything = { limit: 1000, cursor: null }

/** The clock of a machine that is this far behind. */
const behind = (byMs: number): Clock => ({
  ...systemClock,
  wallMs: () => systemClock.wallMs() - byMs,
})

async function fillAndMove(ask: (store: Store) => Promise<unknown> = async () => null) {
  const source = world().source()
  const filled = await fillStore(source)
  const answer = await ask(source)
  await source.close()
  const moved = await world().move()
  const target = await world().target()
  return { filled, answer, moved, target }
}

it('every row is in the target, and the answer counts them', async () => {
  const { moved } = await fillAndMove()
  expect(moved).toMatchObject({ outcome: 'moved', replaced: 0 })
  const counts = moved.tables.map(({ table, rows }) => [table, rows])
  for (const [table, rows] of counts) {
    const [here] = world().here(`SELECT count(*) AS n FROM ${table}`)
    const [there] = await world().there(`SELECT count(*)::int AS n FROM ${table}`)
    // The move itself is one more row in the audit of the target.
    expect([table, here?.['n'], there?.['n']]).toEqual([
      table,
      rows,
      Number(rows) + (table === 'audit' ? 1 : 0),
    ])
  }
  const filled = new Set(moved.tables.flatMap(({ table, rows }) => (rows > 0 ? [table] : [])))
  for (const table of ['audit', 'run', 'subject', 'delivery', 'delivery_attempt', 'inbox']) {
    expect(filled).toContain(table)
  }
  for (const table of ['inbox_body', 'token', 'token_repository', 'marker_key', 'repository']) {
    expect(filled).toContain(table)
  }
})

it('its reads answer the same as before', async () => {
  const ask = async ({ runs, inbox, outbox, tokens, audit, upkeep }: Store) => ({
    runs: await runs.list({}, everything),
    inbox: await inbox.list({}, everything),
    body: Buffer.from((await inbox.body(3))?.body ?? []).toString('hex'),
    budgets: await outbox.budgets(),
    authors: await outbox.authors(),
    keys: await outbox.markerKeys(),
    tokens: await tokens.list(everything),
    audit: (await audit.list({}, everything)).items.filter(({ type }) => type !== 'store.moved'),
    started: await upkeep.firstStartedAt(),
    served: await upkeep.servedAt(),
    mode: (await upkeep.vitals()).mode,
  })
  const { answer, target } = await fillAndMove(ask)
  expect(await ask(target)).toEqual(answer)
})

it('`why` tells the same story', async () => {
  const tell = async (store: Store) => {
    const { story } = await explain(store, 'acme/widgets#1')
    return story
  }
  const { answer, target } = await fillAndMove(tell)
  expect(await tell(target)).toEqual(answer)
  expect(JSON.stringify(answer)).toContain('claimed')
})

it('a holder renews and completes with its old lease', async () => {
  const { filled, target } = await fillAndMove()
  await target.upkeep.beat()
  const { fence } = await target.runs.heartbeat(holderOf(filled.held), null)
  expect(fence).toBe(filled.held.run?.fence)
  const ended = await target.runs.complete(completion(filled.held), null)
  expect(ended.state).toBe('succeeded')
})

it('a lease that ran out during the move lasts one lease longer', async () => {
  const source = world().source(behind(10 * minute))
  const { held } = await fillStore(source)
  await source.close()
  await world().move()
  const target = await world().target()
  // Also for a program that asks before any server was active there.
  await target.upkeep.watch()
  expect((await target.runs.claim(pull(1, 'a'), null)).reason).toBe('duplicate')
  await target.upkeep.beat()
  expect((await target.runs.claim(pull(1, 'a'), null)).reason).toBe('duplicate')
  const { expiresAt } = await target.runs.heartbeat(holderOf(held), null)
  expect(expiresAt).toBeGreaterThan(target.now() + leaseMs - minute / 2)
})

it('a target whose clock is behind the source takes no lease away', async () => {
  const source = world().source(behind(-10 * minute))
  const { held } = await fillStore(source)
  await source.close()
  await world().move()
  const target = await world().target()
  await target.upkeep.beat()
  expect((await target.runs.claim(pull(1, 'a'), null)).reason).toBe('duplicate')
  const { expiresAt } = await target.runs.heartbeat(holderOf(held), null)
  expect(expiresAt).toBeLessThan(target.now() + 2 * leaseMs)
})

it('runs of the old server’s executors are given back at once, others are not', async () => {
  const lease = async (store: Store) => {
    for (const key of ['executed', 'leased']) {
      await store.runs.claim(jobClaim(key, key, { type: key, lease: null }), null)
    }
    const asked = { type: 'executed', askedOnly: false, leaseMs, actor: 'executor' }
    const [executed] = await store.runs.leaseMany({
      ...asked,
      grants: [grant({ holder: 'executor' })],
    })
    const leased = await store.runs.lease(leaseRequest({ types: ['leased'] }), null)
    return { executed: executed!, leased: leased! }
  }
  const { answer, target } = await fillAndMove(lease)
  const { executed, leased } = answer as Awaited<ReturnType<typeof lease>>
  await target.upkeep.beat()
  const due = await target.runs.due(100)
  expect(due).toEqual([executed.run.id])
  await target.runs.sweep(executed.run.id)
  const given = { state: 'pending', attempt: 2, holder: null }
  expect(await target.runs.get(executed.run.id)).toMatchObject(given)
  expect(await target.runs.get(leased.run.id)).toMatchObject({ state: 'running', attempt: 1 })
  await expect(target.runs.heartbeat(holderOf(executed), null)).rejects.toMatchObject({
    code: 'lease_lost',
  })
})

it('known keys are duplicates, and new ids and fences are above the old ones', async () => {
  const { target } = await fillAndMove()
  const before = Number(
    world().here(`SELECT seq FROM sqlite_sequence WHERE name = 'audit'`)[0]?.['seq'],
  )
  for (const claim of [pull(1, 'a'), pull(2, 'a'), jobClaim('nightly:1', 'nightly')]) {
    expect((await target.runs.claim(claim, null)).reason).toBe('duplicate')
  }
  const { run } = await target.runs.claim(pull(99, 'a'), null)
  expect(run?.fence).toBeGreaterThan(before)
  const repeated = await target.inbox.receive(newWebhook({ webhookId: 'guid-first' }))
  expect(repeated.entry.arrival).toBe(1)
  expect((await target.inbox.receive(newWebhook())).entry.arrival).toBeGreaterThan(3)
})

it('numbers continue after those that were given, even if their rows are gone', async () => {
  await world().fill()
  world().here('DELETE FROM audit WHERE id > 5')
  world().here(`UPDATE sqlite_sequence SET seq = 5000 WHERE name = 'audit'`)
  world().here('DELETE FROM inbox')
  await world().move()
  const target = await world().target()
  const { run } = await target.runs.claim(pull(99, 'a'), null)
  expect(run?.fence).toBeGreaterThan(5000)
  expect((await target.inbox.receive(newWebhook())).entry.arrival).toBe(4)
  const after = await target.audit.after(4999, {}, 10)
  expect(after.rows[0]?.type).toBe('store.moved')
})

it('a reader of the audit misses nothing and sees nothing twice', async () => {
  const { answer, target } = await fillAndMove(async ({ audit }) => await audit.latestOrder())
  await target.runs.claim(pull(99, 'a'), null)
  const latest = await target.audit.latestOrder()
  expect(latest).toBeGreaterThan(answer as number)
  const { rows } = await target.audit.after(answer as number, {}, 100)
  expect(rows.map(({ type }) => type)).toEqual(['store.moved', 'run.claimed'])
})

it('what was being sent is in doubt, as after a crash', async () => {
  const { filled, target } = await fillAndMove()
  const publisher = new ManualPublisher({ store: target })
  const leased = (await publisher.lease()).find(({ delivery }) => delivery.id === filled.beingSent)
  expect(leased?.delivery).toMatchObject({ wait: 'in_doubt', attemptId: null })
  const [attempt] = await target.outbox.attemptsOf(filled.beingSent)
  expect(attempt).toMatchObject({ outcome: 'in_doubt', errorCode: 'holder_lost' })
})

it('a scoped token works, with its limits', async () => {
  const { filled, target } = await fillAndMove()
  const token = await target.tokens.get(filled.token.id)
  expect(token).toMatchObject({
    scope: 'worker',
    secretHash: hashSecret(filled.token.secret),
    limits: { types: ['review'], repositories: [{ pattern: 'acme/*' }] },
  })
  const lease = grant({ token: { id: filled.token.id, until: null } })
  expect((await target.runs.claim({ ...pull(98, 'a'), lease }, null)).reason).toBe('new')
})

it('keeps the id of the store, or gives it one', async () => {
  await world().fill()
  world().here("INSERT INTO store_state VALUES ('store_id', 'an-id')")
  expect((await world().move()).storeId).toBe('an-id')
  expect(await world().there("SELECT value FROM store_state WHERE key = 'store_id'")).toEqual([
    { value: 'an-id' },
  ])
  await world().undo()
  world().here("DELETE FROM store_state WHERE key = 'store_id'")
  const { storeId } = await world().move()
  expect(storeId).toMatch(/^[0-9a-f]{32}$/)
  expect(world().here("SELECT value FROM store_state WHERE key = 'store_id'")).toEqual([
    { value: storeId },
  ])
})

it('an empty store can be moved', async () => {
  await world().source().close()
  const { tables } = await world().move()
  expect(tables.every(({ rows }) => rows === 0)).toBe(true)
  const target = await world().target()
  expect((await target.runs.claim(pull(1, 'a'), null)).run?.fence).toBe(2)
})

it('a text with NUL is stored without it, and counted; in a key it is refused', async () => {
  await world().fill()
  world().here(`UPDATE run SET summary = 'a' || char(0) || 'b', description = char(0)
    WHERE summary IS NOT NULL`)
  world().here(`INSERT INTO author VALUES ('user' || char(0), 9, 1)`)
  await expect(world().move()).rejects.toMatchObject({ code: 'move_text' })
  world().here('DELETE FROM author WHERE github_id = 9')
  expect(await world().move()).toMatchObject({ outcome: 'moved', replaced: 2 })
  const [row] = await world().there(
    'SELECT summary, description FROM run WHERE summary IS NOT NULL',
  )
  expect(row).toEqual({ summary: 'a\ufffdb', description: '\ufffd' })
})

it('more rows than one batch, and rows larger than one, are all moved', async () => {
  await world().fill()
  world().here(`INSERT INTO audit (at, type, actor, data)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
    SELECT i, 'run.claimed', 'test', '{"text":"' || hex(randomblob(i % 50)) || '"}' FROM n`)
  world().here('INSERT INTO inbox_body VALUES (1001, char(123, 125), randomblob(6000000))')
  world().here('INSERT INTO inbox_body VALUES (1002, char(123, 125), zeroblob(0))')
  const { tables } = await world().move()
  const rowsOf = (name: string) => tables.find(({ table }) => table === name)?.rows
  expect(rowsOf('audit')).toBeGreaterThan(2500)
  expect(rowsOf('inbox_body')).toBe(5)
})
