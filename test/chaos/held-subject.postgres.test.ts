/**
 * Goal: a locked subject does not block requests for other subjects.
 * Method: a connection of another program locks a subject's row and keeps the lock. Many callers
 * with an Idempotency-Key, which are never batched, claim that subject; meanwhile a webhook, a
 * heartbeat and a ping for other subjects must be answered while the lock is still held.
 */
import pg from 'pg'
import { expect, it, vi } from 'vitest'
import type { IdempotencyKey } from '../../src/store.ts'
import { sessionOptions } from '../../src/stores/open-postgres.ts'
import { newWebhook } from '../conformance/inbox/webhooks.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { claimOf } from './claims.ts'
import { openStore } from './open-store.ts'

vi.setConfig({ testTimeout: 60_000 })

const idempotencyKey = (name: string): IdempotencyKey => ({
  keyHash: name,
  bodyHash: 'body',
  seal: (text) => text,
  open: (sealed) => sealed,
})

it('callers of a locked subject leave connections for all other requests', async () => {
  const database = await freshDatabase()
  const store = await openStore({ kind: 'postgres', url: database.url })
  const claim = (pr: number) => {
    const secret = `s${pr}`
    return claimOf({ pr, head: 'a', secret, leaseMs: 60_000, actor: 'test', now: store.now() })
  }
  await store.runs.claim(claim(1), null)
  const other = await store.runs.claim(claim(2), null)
  const holder = new pg.Client({ connectionString: database.url, options: sessionOptions })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query(`UPDATE subject SET touched_at = touched_at WHERE name = 'pr-1'`)

  let answered = 0
  const wanting = Array.from({ length: 40 }, async (_, i) => {
    const { reason } = await store.runs.claim(claim(1), idempotencyKey(`k${i}`))
    answered += 1
    return reason
  })
  const { id: runId = '', leaseHash } = other.run ?? {}
  const heartbeat = { runId, leaseHash: leaseHash ?? '', leaseMs: null, actor: 'test' }
  await Promise.all([
    store.ping(),
    store.runs.heartbeat(heartbeat, null),
    store.inbox.receive(newWebhook()),
  ])
  expect(answered).toBe(0)

  await holder.query('COMMIT')
  await holder.end()
  expect(new Set(await Promise.all(wanting))).toEqual(new Set(['duplicate']))
  await store.close()
  await database.drop()
})
