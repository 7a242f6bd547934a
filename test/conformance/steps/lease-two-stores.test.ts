/**
 * Goal: two processes that lease many runs at once never get the same run, and together they get
 * every run.
 * Method: two stores on one database lease from the same fifty runs until nothing is left.
 */
import { describe, expect, it } from 'vitest'
import type { Store } from '../../../src/store.ts'
import { grant, jobClaim, leaseMs } from '../claims.ts'
import { sharedDatabases } from '../shared-database.ts'
import { TestClock } from '../world.ts'

describe.each(sharedDatabases)('two processes on %s', (_name, make) => {
  it('lease every run once', async () => {
    const database = await make()
    const clock = new TestClock()
    const stores = [await database.open(clock), await database.open(clock)]
    const [one] = stores
    const keys = Array.from({ length: 50 }, (_, n) => `job ${n}`)
    const claims = keys.map((key) => one!.runs.claim(jobClaim(key, key, { lease: null }), null))
    await Promise.all(claims)
    const leased = (await Promise.all(stores.flatMap((store) => [all(store), all(store)]))).flat()
    expect(leased.toSorted()).toEqual(keys.toSorted())
    for (const store of stores) await store.close()
    await database.remove()
  })
})

/** The keys of all runs that this process gets, seven at a time. */
async function all(store: Store): Promise<string[]> {
  const keys: string[] = []
  for (;;) {
    const grants = Array.from({ length: 7 }, () => grant({ holder: 'executor' }))
    const request = { grants, leaseMs, type: 'job', askedOnly: false, actor: 'executor' }
    const leased = await store.runs.leaseMany(request)
    if (leased.length === 0) return keys
    keys.push(...leased.map(({ run }) => run.key))
  }
}
