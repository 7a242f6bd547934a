/**
 * Goal: when two names turned out to be one repository, and the run that won a pair of commits was
 * purged, the run that lost it does not stand in the way of that pair.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ClaimAnswer } from '../../../src/store.ts'
import { purgeAll, purgeLimits } from '../../../src/runs/purge.ts'
import { completion, pullRequestClaim, unique } from '../claims.ts'
import { day, openWorld, type OpenStore, type World } from '../world.ts'

const limits = purgeLimits({ finishedDays: 30, supersededDays: 7, inboxDays: 7, auditDays: 90 })

export function purgedWinner(open: OpenStore): void {
  let world: World
  beforeEach(async () => {
    world = await openWorld(open)
  })
  afterEach(() => world.close())

  const runOf = ({ run }: ClaimAnswer) => world.store.runs.get(run!.id)

  /** The winner is purged; the run that lost the pair is a day younger and still stored. */
  async function merged() {
    const { runs, repositories } = world.store
    const [before, after] = [unique('acme/old'), unique('acme/new')]
    const claim = (repo: string, head: string, eventAt: number | null) =>
      runs.claim(pullRequestClaim({ repo, pr: 5, head }, { eventAt }), null)
    await repositories.learn(before, 4711, 'now', 'test')
    const winner = await claim(before, 'a', 1)
    await runs.complete(completion(winner), null)
    world.clock.move(day)
    const loser = await claim(after, 'a', 1)
    await runs.complete(completion(loser, 'failed'), null)
    await repositories.learn(after, 4711, 'now', 'test')
    const purgeWinner = async () => {
      world.clock.move(29 * day + 1)
      expect(await purgeAll(world.store, limits, 'purge')).toBe(1)
      expect(await runOf(winner)).toBeNull()
      expect(await runOf(loser)).toMatchObject({ key: `${after}:pr-5:${winner.run!.pair}` })
    }
    return { before, after, claim, winner, loser, purgeWinner }
  }

  it.each(['old', 'new'] as const)(
    'a head that returns under the %s name is worked on, and the head before it is superseded',
    async (name) => {
      const { before, after, claim, loser, purgeWinner } = await merged()
      const between = await claim(after, 'b', 2)
      await purgeWinner()
      const back = await claim(name === 'old' ? before : after, 'a', 3)
      expect(back).toMatchObject({ process: true, supersededKeys: [between.runKey] })
      expect(back.run).toMatchObject({ state: 'running', round: 2, attempt: 1 })
      expect(back.run?.id).not.toBe(loser.run?.id)
      expect((await runOf(between))?.state).toBe('superseded')
    },
  )

  it('a key that is still current is a duplicate, because its last run succeeded', async () => {
    const { after, claim, purgeWinner } = await merged()
    await purgeWinner()
    const nothing = { reason: 'duplicate', process: false, run: null }
    expect(await claim(after, 'a', 3)).toMatchObject(nothing)
  })

  it('if GitHub says that the head is back, the lost run is not claimed', async () => {
    const { after, claim, loser, purgeWinner } = await merged()
    const between = await claim(after, 'b', null)
    await purgeWinner()
    const { id: runId, fence, subjectId, pair } = between.run!
    const { baseSha, headSha } = loser.run!
    const seen = { runId, fence, baseSha: baseSha!, headSha: headSha!, at: world.store.now() }
    const answer = await world.store.runs.confirmHead({ ...seen, actor: 'head-check' })
    const subject = await world.store.runs.subject(subjectId)
    expect(answer).toMatchObject({ supersededRunIds: [runId] })
    expect(subject).toMatchObject({ headSha, currentPair: loser.run!.pair })
    expect(subject?.currentPair).not.toBe(pair)
    expect((await runOf(loser))?.state).toBe('failed')
  })
}
