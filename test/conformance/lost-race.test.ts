/**
 * Goal: a claim that loses a race and runs again leaves what it would have left at once: nothing is
 * remembered of the run that came to nothing, in the process either.
 * Method: the race is lost after the first statement of a claim, then after its second, and so on
 * until it gets through; each time in a repository of its own, which must be known to be in use.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemRandom } from '../../src/random.ts'
import type { Store } from '../../src/store.ts'
import type { Driver } from '../../src/stores/driver.ts'
import { openPostgresDriver } from '../../src/stores/open-postgres.ts'
import { openSqliteDriver } from '../../src/stores/open-sqlite.ts'
import { SqlStore } from '../../src/stores/sql-store.ts'
import { withLostRace } from '../chaos/faulty-driver.ts'
import { migratedDatabase } from '../postgres/fresh-database.ts'
import { pullRequestClaim, unique } from './claims.ts'
import { hour, seamsWith, TestClock } from './world.ts'

interface Opened {
  readonly driver: Driver
  readonly drop: () => Promise<void>
}

async function onSqlite(clock: TestClock): Promise<Opened> {
  const driver = openSqliteDriver({ path: ':memory:', exclusive: true }, seamsWith(clock))
  return { driver, drop: async () => undefined }
}

async function onPostgres(clock: TestClock): Promise<Opened> {
  const database = await migratedDatabase()
  const driver = await openPostgresDriver(database.url, seamsWith(clock))
  return { driver, drop: () => database.drop() }
}

describe.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const)('a race lost anywhere on %s', (_name, open) => {
  const clock = new TestClock()
  const race = { left: -1 }
  let opened: Opened
  let store: Store
  beforeEach(async () => {
    opened = await open(clock)
    const { scheduler } = seamsWith(clock)
    store = new SqlStore(withLostRace(opened.driver, race), { random: systemRandom, scheduler })
  })
  afterEach(async () => {
    await opened.driver.close()
    await opened.drop()
  })

  /** Answers whether the race was lost: past its last statement there is none to lose. */
  async function claimLosing(after: number, repo: string): Promise<boolean> {
    race.left = after
    const { reason, lease } = await store.claimRun(
      pullRequestClaim({ repo, pr: 5, head: 'a' }),
      null,
    )
    const wasLost = race.left < 0
    race.left = -1
    expect([reason, lease === null]).toEqual(['new', false])
    return wasLost
  }

  const inUse = async (): Promise<readonly string[]> => {
    const { items } = await store.catchUp.repositoriesInUse(store.now() - hour, 1000)
    return items.map(({ name }) => name)
  }

  it('a claim notes that its repository is in use, and is one run', async () => {
    const expected: string[] = []
    for (let after = 0, wasLost = true; wasLost; after += 1) {
      const repo = unique('acme/repo')
      await store.learnRepository(repo, 9000 + after, 'now', 'test')
      wasLost = await claimLosing(after, repo)
      expected.push(repo)
      expect(await inUse()).toContain(repo)
      const { items } = await store.listRuns({ repo }, { limit: 10, cursor: null })
      expect(items).toHaveLength(1)
    }
    expect(expected.length).toBeGreaterThan(6)
  })

  it('a use within five minutes is not noted again, a later one is', async () => {
    const repo = unique('acme/repo')
    await store.learnRepository(repo, 9999, 'now', 'test')
    const usedSince = async (ms: number): Promise<boolean> => {
      const { items } = await store.catchUp.repositoriesInUse(store.now() - ms, 1000)
      return items.some(({ name }) => name === repo)
    }
    const claim = async (pr: number) =>
      await store.claimRun(pullRequestClaim({ repo, pr, head: 'a' }), null)
    await claim(1)
    clock.move(4 * 60_000)
    await claim(2)
    expect([await usedSince(0), await usedSince(4 * 60_000)]).toEqual([false, true])
    clock.move(2 * 60_000)
    await claim(3)
    expect(await usedSince(0)).toBe(true)
  })
})
