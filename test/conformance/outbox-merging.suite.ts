/**
 * Goal: two names turn out to be one repository while a create is unanswered: what may have been
 * made is looked for by the delivery that stays, and by nobody else.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { pullRequestClaim, unique } from './claims.ts'
import { announced, noAnswer, OutboxHand, sentEnd } from './outbox-hand.ts'
import { TestSubject } from './test-subject.ts'
import { day, openWorld, type OpenStore, type World } from './world.ts'

const page = { limit: 100, cursor: null }

export function merging(open: OpenStore): void {
  let world: World
  let hand: OutboxHand
  beforeEach(async () => {
    world = await openWorld(open)
    hand = new OutboxHand(world.store)
  })
  afterEach(() => world.close())

  const outbox = () => world.store.outbox
  const make = () => new TestSubject(world, { announcement: announced })

  /** Two rows of one repository; the second one's claim is the newer. */
  async function twoRows() {
    const [left, right] = [unique('acme/left'), unique('acme/right')]
    const githubId = 780_000 + (world.store.now() % 10_000)
    const policy = { ...make().policy, announcement: announced }
    const claim = async (repo: string, head: string, eventAt: number) => {
      const made = pullRequestClaim({ repo, pr: 5, head }, { eventAt, policy })
      return (await world.store.claimRun(made, null)).run!
    }
    await world.store.learnRepository(left, githubId)
    const merge = () => world.store.learnRepository(right, githubId)
    const anchors = async () => {
      const { items } = await outbox().list({}, page)
      const ofThis = items.filter(({ name }) => name === 'anchor')
      const [standing] = ofThis.filter(({ reason }) => reason !== 'target_taken')
      const [given] = ofThis.filter(({ reason }) => reason === 'target_taken')
      return { standing: standing!, given: given! }
    }
    return { left, right, claim, merge, anchors }
  }

  it('of the older one: the newer one looks before it creates', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await hand.send(await hand.leaseNamed('anchor'), noAnswer)
    const since = (await outbox().list({}, page)).items.find(({ name }) => name === 'anchor')
    await claim(right, 'b', 2000)
    await merge()
    const { standing } = await anchors()
    expect(standing).toMatchObject({ status: 'PENDING', wait: 'in_doubt', providerId: null })
    expect(standing.memo.doubt).toEqual({ ...since?.memo.doubt, looks: 0 })
    expect(standing.memo).toMatchObject({ unsettled: true, scan: { step: 0 } })
  })

  it('of the older one: the newer one, which is there, is searched for a copy', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await hand.send(await hand.leaseNamed('anchor'), noAnswer)
    await claim(right, 'b', 2000)
    await hand.send(await hand.leaseNamed('anchor'), sentEnd())
    await merge()
    const { standing, given } = await anchors()
    expect(standing.memo).toMatchObject({ unsettled: true, scan: { step: 0 } })
    expect(standing.dueAt).not.toBeNull()
    expect(standing.createdAt).toBeLessThanOrEqual(given.createdAt)
  })

  it('under way while they become one: its late answer is the standing one’s', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    const leased = await hand.leaseNamed('anchor')
    const attempt = await hand.begun(leased)
    await claim(right, 'b', 2000)
    await merge()
    expect((await anchors()).standing).toMatchObject({ wait: 'in_doubt' })
    expect(await hand.end(leased, attempt, sentEnd())).toBe('late')
    const { standing, given } = await anchors()
    expect(given).toMatchObject({ memo: {}, dueAt: null })
    expect(standing.memo).toMatchObject({ unsettled: true, scan: { step: 0 } })
  })

  it('of the newer one: it goes on looking, and knows its former repository', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await hand.publish()
    await claim(right, 'b', 2000)
    await hand.send(await hand.leaseNamed('anchor'), noAnswer)
    await merge()
    const { standing, given } = await anchors()
    expect(standing.memo.doubt).toMatchObject({ action: 'create' })
    expect(standing.providerId).toBe(given.providerId)
    world.clock.move(day)
    const again = await hand.leaseNamed('anchor')
    expect(again.ownRepositoryIds).toHaveLength(2)
    expect(again.ownRepositoryIds[0]).toBe(standing.repositoryId)
  })
}
