/**
 * Steps in batches against both real databases: runs that work at the same time share their
 * transactions, and no request is harmed by the others in its batch.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openDriver, storeOver, type Database } from '../../../test/chaos/open-store.ts'
import { jobClaim, unique } from '../../../test/conformance/claims.ts'
import { codeOf, StepHolder } from '../../../test/conformance/steps/step-holder.ts'
import { freshDatabase, type TestDatabase } from '../../../test/postgres/fresh-database.ts'
import type { Driver } from '../driver.ts'
import type { Verb } from '../sql.ts'
import type { SqlStore } from './sql-store.ts'

describe.each(['sqlite', 'postgres'] as const)('on %s', (kind) => {
  let database: TestDatabase | undefined
  let store: SqlStore
  let transactions = 0
  let statements = 0

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
  beforeEach(() => {
    transactions = statements = 0
  })

  const counting = (driver: Driver): Driver => ({
    dialect: driver.dialect,
    now: () => driver.now(),
    transact: (makeVerb) => {
      transactions++
      return driver.transact(() => counted(makeVerb()))
    },
    read: (makeVerb) => driver.read(makeVerb),
    ping: () => driver.ping(),
    close: () => driver.close(),
  })

  function* counted<T>(verb: Verb<T>): Verb<T> {
    let step = verb.next()
    while (step.done !== true) {
      statements++
      step = verb.next(yield step.value)
    }
    return step.value
  }

  async function holders(count: number): Promise<readonly StepHolder[]> {
    const claims = Array.from({ length: count }, () => {
      const key = unique('job')
      return store.runs.claim(jobClaim(key, key), null)
    })
    const held = (await Promise.all(claims)).map((claim) => new StepHolder(store, claim))
    transactions = statements = 0
    return held
  }

  it('64 runs that begin a step at once need one transaction, with three statements', async () => {
    const all = await holders(64)
    const began = await Promise.all(all.map((holder) => holder.begin('model')))
    expect(new Set(began.map(({ reply }) => reply))).toEqual(new Set(['began']))
    expect([transactions, statements]).toEqual([1, 3])
  })

  it('the results of 64 steps and the starts of the next need one, with three', async () => {
    const all = await holders(64)
    await Promise.all(all.map((holder) => holder.begin('one')))
    transactions = statements = 0
    const replies = await Promise.all(
      all.flatMap((holder) => [holder.record('one'), holder.begin('two')]),
    )
    expect(new Set(replies.map(({ reply }) => reply))).toEqual(new Set(['recorded', 'began']))
    expect([transactions, statements]).toEqual([1, 3])
  })

  it('take-overs of 64 steps at once write their audit rows together', async () => {
    const all = await holders(64)
    await Promise.all(all.map((holder) => holder.begin('model')))
    for (const holder of all) holder.forget('model')
    transactions = statements = 0
    await Promise.all(all.map((holder) => holder.takeOver('model')))
    expect([transactions, statements]).toEqual([1, 5])
  })

  it('requests about one step are decided in the order in which they came', async () => {
    const [holder] = await holders(1)
    const replies = await Promise.all([
      holder!.begin('model'),
      holder!.record('model', '1'),
      holder!.record('model', '2'),
      holder!.begin('model'),
    ])
    expect(replies.map(({ reply, step }) => [reply, step?.result])).toEqual([
      ['began', null],
      ['recorded', '1'],
      ['already', '1'],
      ['known', '1'],
    ])
  })

  it('one that lost its run, and one whose run is unknown, do not harm the others', async () => {
    const [one, lost, other] = await holders(3)
    await store.runs.cancel(lost!.runId, 'ann', null)
    const request = other!.request('model', { do: 'begin', policy: 'repeat' })
    const codes = await Promise.all([
      codeOf(one!.begin('model')),
      codeOf(lost!.begin('model')),
      codeOf(store.steps.act({ ...request, runId: 'run_none' })),
      codeOf(other!.begin('model')),
    ])
    expect(codes).toEqual(['no error', 'cancelled', 'run_not_found', 'no error'])
  })
})
