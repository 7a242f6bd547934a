/**
 * Goal: two names turn out to be one repository while a create is unanswered: what may have been
 * made is looked for by the delivery that stays, and by nobody else.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { allRights } from '../../src/domain/outbox/publish-rights.ts'
import { defaultPublishing } from '../../src/domain/outbox/schedule.ts'
import type { Announcement } from '../../src/domain/run.ts'
import { completion, holderOf, pullRequestClaim, unique } from './claims.ts'
import { announced, noAnswer, OutboxHand, sentEnd } from './outbox-hand.ts'
import { TestSubject } from './test-subject.ts'
import { day, hour, openWorld, type OpenStore, type World } from './world.ts'

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
    await world.store.learnRepository(left, githubId, 'now', 'test')
    const merge = () => world.store.learnRepository(right, githubId, 'now', 'test')
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

  it('the one that gave up its place is not sent, skipped or confirmed by hand', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await claim(right, 'b', 2000)
    await merge()
    const { given } = await anchors()
    const { id } = given
    const taken = { code: 'target_taken' }
    await expect(outbox().retry(id, 'op', null)).rejects.toMatchObject(taken)
    await expect(outbox().skip(id, 'not needed', 'op', null)).rejects.toMatchObject(taken)
    await expect(outbox().confirm(id, null, 'op', null)).rejects.toMatchObject(taken)
    expect((await anchors()).given).toEqual(given)
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

  it('whoever creates the newer one meanwhile does not decide which comment it is', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await hand.send(await hand.leaseNamed('anchor'), sentEnd({ providerId: '100' }))
    await claim(right, 'b', 2000)
    const leased = await hand.leaseNamed('anchor')
    const attempt = await hand.begun(leased)
    await merge()
    expect(await hand.end(leased, attempt, sentEnd({ providerId: '105' }))).toBe('late')
    const { standing } = await anchors()
    expect(standing).toMatchObject({ status: 'PENDING', providerId: '100' })
    expect(standing.memo).toMatchObject({ unsettled: true, scan: { step: 0 } })
    world.clock.move(defaultPublishing.deliveryLeaseMs)
    expect((await hand.leaseNamed('anchor')).delivery).toMatchObject({
      wait: 'in_doubt',
      memo: { doubt: { action: 'create' } },
    })
  })

  it('whoever edits the higher of two comments meanwhile does not have it removed', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await hand.send(await hand.leaseNamed('anchor'), sentEnd({ providerId: '100' }))
    const { id } = await claim(right, 'b', 2000)
    await hand.send(await hand.leaseNamed('anchor'), sentEnd({ providerId: '105' }))
    world.clock.move(hour)
    await world.store.reportStatus({ runId: id, leaseHash: null, text: 'half', actor: 'op' }, null)
    const leased = await hand.leaseNamed('anchor')
    const attempt = await hand.begun(leased)
    await merge()
    expect(await hand.end(leased, attempt, sentEnd({ providerId: '105' }))).toBe('late')
    const { standing } = await anchors()
    expect(standing).toMatchObject({ providerId: '100', memo: { surplus: ['105'] } })
  })

  it('whoever is about to create it finds that it is there', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await hand.send(await hand.leaseNamed('anchor'), sentEnd({ providerId: '100' }))
    await claim(right, 'b', 2000)
    const leased = await hand.leaseNamed('anchor')
    await merge()
    expect(await hand.begin(leased)).toEqual({ result: 'lost' })
    const { standing } = await anchors()
    expect(standing).toMatchObject({ providerId: '100', leaseId: null, dueAt: world.store.now() })
  })

  it('what was said under a context of their own is kept for when it is given back', async () => {
    const { left, right, claim, merge } = await twoRows()
    const say = async (repo: string, pr: number, eventAt: number) => {
      const policy = { ...make().policy, announcement: announced }
      const made = pullRequestClaim({ repo, pr, head: 'a' }, { eventAt, policy })
      const held = await world.store.claimRun(made, null)
      const { runId, leaseHash } = holderOf(held)
      const content = { context: 'own/lint', state: 'success', description: repo, targetUrl: null }
      const said = { name: 'lint', channel: 'github-status', content } as const
      const request = { runId, leaseHash, actor: 'test', ...said, rightsOf: () => allRights }
      await outbox().publish(request, null)
      return runId
    }
    await claim(left, 'b', 500)
    const older = await say(left, 6, 1000)
    const newer = await say(right, 7, 2000)
    await merge()
    await world.store.cancelRun(newer, 'test', null)
    const { items } = await outbox().list({ channel: 'github-status' }, page)
    const [standing] = items.filter(({ name, reason }) => name === 'lint' && reason === null)
    expect(standing?.runId).toBe(older)
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

  /** One pair of commits, claimed under both names: by us first, then by a caller. */
  async function onePair(announcement: Announcement = announced) {
    const [left, right] = [unique('acme/left'), unique('acme/right')]
    const githubId = 790_000 + (world.store.now() % 10_000)
    const policy = { ...make().policy, announcement }
    const claim = async (repo: string, isHeld: boolean) => {
      const made = pullRequestClaim({ repo, pr: 5, head: 'a' }, { eventAt: 1000, policy })
      return await world.store.claimRun(isHeld ? made : { ...made, lease: null }, null)
    }
    await world.store.learnRepository(left, githubId, 'now', 'test')
    return {
      left,
      right,
      claim,
      merge: () => world.store.learnRepository(right, githubId, 'now', 'test'),
    }
  }

  it('of one pair: an unanswered status is looked for before it is said again', async () => {
    const { left, right, claim, merge } = await onePair()
    const held = await claim(left, true)
    await hand.send(await hand.leaseNamed('status'), noAnswer)
    const { memo } = await hand.named(held.run!.id, 'status')
    await claim(right, false)
    await merge()
    const { items } = await outbox().list({ runId: held.run!.id }, page)
    const standing = items.find(({ name, reason }) => name === 'status' && reason === null)
    expect(standing).toMatchObject({ status: 'PENDING', wait: 'in_doubt' })
    expect(standing?.memo.doubt).toEqual({ ...memo.doubt, looks: 0 })
  })

  it('runs that had ended before are not told anew', async () => {
    const { left, right, claim, merge } = await twoRows()
    const ended = await claim(left, 'a', 1000)
    await world.store.cancelRun(ended.id, 'test', null)
    await claim(right, 'b', 2000)
    await hand.publish()
    world.clock.move(hour)
    await merge()
    const filter = { runId: ended.id, type: 'delivery.target_taken' } as const
    expect((await world.store.listAudit(filter, page)).items).toEqual([])
  })

  it('of one pair: the run that is under way goes on showing it', async () => {
    const { left, right, claim, merge } = await onePair()
    const held = await claim(left, true)
    await hand.publish()
    const { providerId } = await hand.named(held.run!.id, 'check')
    const waiting = await claim(right, false)
    await merge()
    expect(await hand.named(held.run!.id, 'check')).toMatchObject({ providerId })
    await world.store.completeRun(completion(held), null)
    await hand.publish()
    const { items } = await outbox().list({ runId: held.run!.id }, page)
    const shown = items.filter(({ reason }) => reason !== 'target_taken')
    expect(shown.map(({ name }) => name).toSorted()).toEqual(['anchor', 'check', 'status'])
    for (const one of shown) expect(one).toMatchObject({ status: 'SENT', final: true })
    const other = await hand.named(waiting.run!.id, 'check')
    expect(other).toMatchObject({ status: 'SKIPPED', providerId: null })
  })

  it('of one pair: of two check runs that are still to be made one is', async () => {
    const { left, right, claim, merge } = await onePair()
    const older = await claim(left, true)
    await world.store.completeRun(completion(older), null)
    const newer = await claim(right, true)
    await world.store.completeRun(completion(newer), null)
    await merge()
    const [one, other] = [older, newer].map(({ run }) => hand.named(run!.id, 'check'))
    expect([(await one!).status, (await other!).status].toSorted()).toEqual(['PENDING', 'SKIPPED'])
  })

  it.each([false, true])('of one pair: a check run goes on (ended: %s)', async (ended) => {
    const { left, right, claim, merge } = await onePair()
    const waiting = await claim(left, ended)
    await hand.publish()
    if (ended) await world.store.completeRun(completion(waiting, 'failed'), null)
    const { providerId } = await hand.named(waiting.run!.id, 'check')
    const held = await claim(right, true)
    await merge()
    expect(await hand.named(waiting.run!.id, 'check')).toMatchObject({ reason: 'target_taken' })
    expect(await hand.named(held.run!.id, 'check')).toMatchObject({ providerId })
  })

  it.each([
    ['is under way', false],
    ['is over', true],
  ])('of one pair, where the second %s: its check run is searched for', async (_name, isOver) => {
    const { left, right, claim, merge } = await onePair()
    const held = await claim(left, true)
    await world.store.completeRun(completion(held), null)
    await hand.publish()
    const { providerId } = await hand.named(held.run!.id, 'check')
    const waiting = await claim(right, true)
    await hand.send(await hand.leaseNamed('check'), noAnswer)
    if (isOver) await world.store.completeRun(completion(waiting, 'failed'), null)
    await merge()
    const given = { status: 'SKIPPED', reason: 'target_taken', providerId: null }
    expect(await hand.named(waiting.run!.id, 'check')).toMatchObject(given)
    const memo = { unsettled: true, scan: { step: 0 } }
    expect(await hand.named(held.run!.id, 'check')).toMatchObject({ providerId, memo })
  })

  it('of one pair: two that are over share the check run that is there', async () => {
    const { left, right, claim, merge } = await onePair()
    const first = await claim(left, true)
    await world.store.completeRun(completion(first), null)
    await hand.publish()
    const { providerId } = await hand.named(first.run!.id, 'check')
    const second = await claim(right, true)
    await hand.send(await hand.leaseNamed('check'), noAnswer)
    await world.store.completeRun(completion(second), null)
    await merge()
    const given = { status: 'SKIPPED', reason: 'target_taken' }
    expect(await hand.named(first.run!.id, 'check')).toMatchObject(given)
    expect(await hand.named(second.run!.id, 'check')).toMatchObject({ providerId, final: true })
  })

  it('of one pair: a completed check run stays, and the next one is made', async () => {
    const { left, right, claim, merge } = await onePair()
    const failed = await claim(left, true)
    await world.store.completeRun(completion(failed, 'failed'), null)
    await hand.publish()
    const { providerId } = await hand.named(failed.run!.id, 'check')
    const held = await claim(right, true)
    await merge()
    expect(await hand.named(failed.run!.id, 'check')).toMatchObject({ status: 'SENT', providerId })
    expect(await hand.named(held.run!.id, 'check')).toMatchObject({ providerId: null })
  })

  it('of one pair: a look for the next check run does not take the completed one', async () => {
    const { left, right, claim, merge } = await onePair()
    const failed = await claim(left, true)
    await world.store.completeRun(completion(failed, 'failed'), null)
    await hand.publish()
    const first = await hand.named(failed.run!.id, 'check')
    const held = await claim(right, true)
    await hand.send(await hand.leaseNamed('check'), noAnswer)
    await merge()
    await world.store.completeRun(completion(held), null)
    const { hold, delivery } = await hand.leaseNamed('check')
    expect(delivery).toMatchObject({ runId: held.run!.id, markerKey: first.markerKey })
    const standing = [{ providerId: first.providerId!, url: null, current: false, atWork: false }]
    const seen = { what: 'looked', standing, unverified: false, hash: 'h', looks: 2 } as const
    await outbox().record(hold, seen)
    expect(await hand.named(held.run!.id, 'check')).toMatchObject({ providerId: null })
    expect(await hand.named(failed.run!.id, 'check')).toEqual(first)
  })

  it('of one pair: comments of their own become one', async () => {
    const { left, right, claim, merge } = await onePair({ ...announced, anchorPer: 'run' })
    const waiting = await claim(left, false)
    await hand.publish()
    const { providerId } = await hand.named(waiting.run!.id, 'anchor')
    const held = await claim(right, true)
    await merge()
    expect(await hand.named(held.run!.id, 'anchor')).toMatchObject({ providerId })
    expect(await hand.named(waiting.run!.id, 'anchor')).toMatchObject({ reason: 'target_taken' })
  })

  it('a newer one that showed nothing closes what the older one shows', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await hand.publish()
    const newer = await claim(right, 'b', 2000)
    await merge()
    await world.store.cancelRun(newer.id, 'person', null)
    expect((await anchors()).standing).toMatchObject({ status: 'PENDING', final: true })
  })

  it.each([
    ['shows', sentEnd()],
    ['may show', noAnswer],
  ])('a newer one that ended unshown closes what the older one %s', async (_how, end) => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await hand.send(await hand.leaseNamed('anchor'), end)
    const newer = await claim(right, 'b', 2000)
    await world.store.cancelRun(newer.id, 'person', null)
    world.clock.move(hour)
    await merge()
    const { standing } = await anchors()
    const isThere = end.what === 'sent'
    const wait = isThere ? 'due' : 'in_doubt'
    expect(standing).toMatchObject({ status: 'PENDING', final: true, runId: newer.id, wait })
    expect(standing.providerId === null).toBe(!isThere)
  })

  it.each([
    ['shown', true],
    ['unshown', false],
  ])('of one pair: the run under way is shown, the other ended %s', async (_how, isShown) => {
    const { left, right, claim, merge } = await onePair()
    const held = await claim(left, true)
    await hand.publish()
    const other = await claim(right, false)
    if (isShown) await hand.publish()
    await world.store.cancelRun(other.run!.id, 'person', null)
    if (isShown) await hand.publish()
    world.clock.move(hour)
    await merge()
    await world.store.completeRun(completion(held), null)
    const { items } = await outbox().list({ runId: held.run!.id }, page)
    const shown = items.filter(({ reason }) => reason !== 'target_taken')
    expect(shown.map(({ name }) => name).toSorted()).toEqual(['anchor', 'check', 'status'])
    for (const one of shown) expect(one).toMatchObject({ status: 'PENDING', final: true })
    const filter = { runId: held.run!.id, type: 'run.claim_skipped' } as const
    const [told] = (await world.store.listAudit(filter, page)).items
    expect(told?.data).toMatchObject({ reason: 'duplicate', key: other.run!.key })
  })
}
