/**
 * Goal: a claim that loses a race and runs again leaves what it would have left at once: nothing of
 * the failed try is remembered, not even in the process.
 * Method: the race is lost after the first statement of a claim, then after its second, and so on
 * until it succeeds; each time in a new repository, which must be recorded as used.
 */
import { describe, expect, it } from 'vitest'
import { SqlStore } from '../../../src/stores/sql-store/sql-store.ts'
import { withLostRace } from '../../chaos/faulty-driver.ts'
import { pullRequestClaim, unique } from '../claims.ts'
import { eitherDatabase } from '../cut-off-store.ts'
import { hour, machineWith, TestClock, useFreshWorld } from '../world.ts'

describe.each(eitherDatabase)('a race lost anywhere on %s', (_name, open) => {
  const race = { left: -1 }
  const world = useFreshWorld(async () => {
    const clock = new TestClock()
    const { driver, close } = await open(clock)
    return { store: new SqlStore(withLostRace(driver, race), machineWith(clock)), clock, close }
  })

  /** Returns whether the race was lost. After its last statement, the claim can lose no race. */
  async function claimLosing(after: number, repo: string): Promise<boolean> {
    race.left = after
    const { reason, lease } = await world.store.runs.claim(
      pullRequestClaim({ repo, pr: 5, head: 'a' }),
      null,
    )
    const wasLost = race.left < 0
    race.left = -1
    expect([reason, lease === null]).toEqual(['new', false])
    return wasLost
  }

  const inUse = async (): Promise<readonly string[]> => {
    const { items } = await world.store.catchUp.repositoriesInUse(world.store.now() - hour, 1000)
    return items.map(({ name }) => name)
  }

  it('a claim records that its repository is used, and creates one run', async () => {
    const expected: string[] = []
    for (let after = 0, wasLost = true; wasLost; after += 1) {
      const repo = unique('acme/repo')
      await world.store.repositories.learn(repo, 9000 + after, 'now', 'test')
      wasLost = await claimLosing(after, repo)
      expected.push(repo)
      expect(await inUse()).toContain(repo)
      const { items } = await world.store.runs.list({ repo }, { limit: 10, cursor: null })
      expect(items).toHaveLength(1)
    }
    expect(expected.length).toBeGreaterThan(6)
  })

  it('a use within five minutes is not recorded again, but a later one is', async () => {
    const repo = unique('acme/repo')
    await world.store.repositories.learn(repo, 9999, 'now', 'test')
    const usedSince = async (ms: number): Promise<boolean> => {
      const { items } = await world.store.catchUp.repositoriesInUse(world.store.now() - ms, 1000)
      return items.some(({ name }) => name === repo)
    }
    const claim = async (pr: number) =>
      await world.store.runs.claim(pullRequestClaim({ repo, pr, head: 'a' }), null)
    await claim(1)
    world.clock.move(4 * 60_000)
    await claim(2)
    expect([await usedSince(0), await usedSince(4 * 60_000)]).toEqual([false, true])
    world.clock.move(2 * 60_000)
    await claim(3)
    expect(await usedSince(0)).toBe(true)
  })
})
