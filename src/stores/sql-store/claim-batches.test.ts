/**
 * Claims in batches against both real databases: fewer transactions than claims, and no claim is
 * harmed by the others in its batch.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimOf, policy } from '../../../test/chaos/claims.ts'
import { openDriver, storeOver, type Database } from '../../../test/chaos/open-store.ts'
import { freshDatabase, type TestDatabase } from '../../../test/postgres/fresh-database.ts'
import type { Claim } from '../../domain/claim.ts'
import { toClaim } from '../../runs/claim-request.ts'
import type { Driver } from '../driver.ts'
import type { SqlStore } from './sql-store.ts'

describe.each(['sqlite', 'postgres'] as const)('on %s', (kind) => {
  let database: TestDatabase | undefined
  let store: SqlStore
  let transactions = 0

  beforeAll(async () => {
    if (kind === 'postgres') database = await freshDatabase()
    const place: Database =
      database === undefined
        ? { kind: 'sqlite', path: ':memory:' }
        : { kind: 'postgres', url: database.url }
    store = storeOver(counting(await openDriver(place)))
  })
  afterAll(async () => {
    await store.close()
    await database?.drop()
  })

  const counting = (driver: Driver): Driver => ({
    dialect: driver.dialect,
    now: () => driver.now(),
    transact: (makeVerb) => {
      transactions++
      return driver.transact(makeVerb)
    },
    read: (makeVerb) => driver.read(makeVerb),
    ping: () => driver.ping(),
    close: () => driver.close(),
  })

  const pullRequest = (pr: number, head: string): Claim =>
    claimOf({ pr, head, secret: 's', leaseMs: 60_000, actor: 'test', now: store.now() })

  const job = (key: string, subject: string): Claim =>
    toClaim(
      { kind: 'job', type: 'build', key, subject },
      { policy, lease: null, leaseMs: 60_000, actor: 'test', now: store.now() },
    )

  it('64 callers at once need far fewer transactions than claims', async () => {
    transactions = 0
    const caller = async (i: number): Promise<void> => {
      for (let n = 0; n < 8; n++) await store.runs.claim(pullRequest(1000 + i * 8 + n, 'a'), null)
    }
    await Promise.all(Array.from({ length: 64 }, (_, i) => caller(i)))
    expect(transactions).toBeLessThan((64 * 8) / 10)
  })

  it('claims of one subject in one turn are decided in the order in which they came', async () => {
    const heads = ['a', 'b', 'c', 'd']
    const answers = await Promise.all(
      heads.map((head) => store.runs.claim(pullRequest(1, head), null)),
    )
    expect(answers.map(({ reason }) => reason)).toEqual([
      'new',
      'superseded-prior',
      'superseded-prior',
      'superseded-prior',
    ])
    expect(answers.map(({ supersededKeys }) => supersededKeys[0])).toEqual([
      undefined,
      ...answers.slice(0, 3).map(({ runKey }) => runKey),
    ])
  })

  it('two claims of one key for two subjects do not harm the other claims', async () => {
    const settled = await Promise.allSettled([
      store.runs.claim(job('deploy', 'blue'), null),
      store.runs.claim(job('neighbour', 'neighbour'), null),
      store.runs.claim(job('deploy', 'green'), null),
      store.runs.claim(pullRequest(2, 'a'), null),
    ])
    expect(settled[0]).toMatchObject({ value: { reason: 'new' } })
    expect(settled[1]).toMatchObject({ value: { reason: 'new' } })
    expect(settled[2]).toMatchObject({ reason: { code: 'key_conflict' } })
    expect(settled[3]).toMatchObject({ value: { reason: 'new' } })
  })
})
