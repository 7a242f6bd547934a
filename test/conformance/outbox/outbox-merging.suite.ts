/**
 * Goal: two names turn out to be one repository while a create is unanswered: only the delivery
 * that stays looks for what may have been created.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { expect, it } from 'vitest'
import { defaultPublishing } from '../../../src/domain/outbox/schedule.ts'
import { holderOf, pullRequestClaim, unique } from '../claims.ts'
import { announced, noAnswer, sentEnd } from './manual-publisher.ts'
import { useOutbox } from './outbox-world.ts'
import { day, hour, type OpenStore } from '../world.ts'

const page = { limit: 100, cursor: null }

export function merging(open: OpenStore): void {
  const { world, publisher, outbox, make } = useOutbox(open)

  /** Two rows of one repository. The claim under the second name is newer. */
  async function twoRows() {
    const [left, right] = [unique('acme/left'), unique('acme/right')]
    const githubId = 780_000 + (world.store.now() % 10_000)
    const policy = { ...make().policy, announcement: announced }
    const claim = async (repo: string, head: string, eventAt: number) => {
      const made = pullRequestClaim({ repo, pr: 5, head }, { eventAt, policy })
      return (await world.store.runs.claim(made, null)).run!
    }
    await world.store.repositories.learn(left, githubId, 'now', 'test')
    const merge = () => world.store.repositories.learn(right, githubId, 'now', 'test')
    const anchors = async () => {
      const { items } = await outbox().list({}, page)
      const ofThis = items.filter(({ name }) => name === 'anchor')
      const [kept] = ofThis.filter(({ reason }) => reason !== 'target_taken')
      const [given] = ofThis.filter(({ reason }) => reason === 'target_taken')
      return { kept: kept!, given: given! }
    }
    return { left, right, claim, merge, anchors }
  }

  it('after a create of the older one, the newer one looks before it creates', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await publisher.send(await publisher.leaseNamed('anchor'), noAnswer)
    const since = (await outbox().list({}, page)).items.find(({ name }) => name === 'anchor')
    await claim(right, 'b', 2000)
    await merge()
    const { kept } = await anchors()
    expect(kept).toMatchObject({ status: 'PENDING', wait: 'in_doubt', providerId: null })
    expect(kept.protocol.doubt).toEqual({ ...since?.protocol.doubt, looks: 0 })
    expect(kept.protocol).toMatchObject({ unsettled: true, scan: { step: 0 } })
  })

  it('a delivery that lost its target cannot be sent, skipped or confirmed', async () => {
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

  it('after a create of the older one, the newer one is scanned for a copy', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await publisher.send(await publisher.leaseNamed('anchor'), noAnswer)
    await claim(right, 'b', 2000)
    await publisher.send(await publisher.leaseNamed('anchor'), sentEnd())
    await merge()
    const { kept, given } = await anchors()
    expect(kept.protocol).toMatchObject({ unsettled: true, scan: { step: 0 } })
    expect(kept.dueAt).not.toBeNull()
    expect(kept.createdAt).toBeLessThanOrEqual(given.createdAt)
  })

  it('a create that is answered after the merge counts for the delivery that stays', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    const leased = await publisher.leaseNamed('anchor')
    const attempt = await publisher.begun(leased)
    await claim(right, 'b', 2000)
    await merge()
    expect((await anchors()).kept).toMatchObject({ wait: 'in_doubt' })
    expect(await publisher.end(leased, attempt, sentEnd())).toBe('late')
    const { kept, given } = await anchors()
    expect(given).toMatchObject({ protocol: {}, dueAt: null })
    expect(kept.protocol).toMatchObject({ unsettled: true, scan: { step: 0 } })
  })

  it('a create of the newer one meanwhile does not decide which comment stays', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await publisher.send(await publisher.leaseNamed('anchor'), sentEnd({ providerId: '100' }))
    await claim(right, 'b', 2000)
    const leased = await publisher.leaseNamed('anchor')
    const attempt = await publisher.begun(leased)
    await merge()
    expect(await publisher.end(leased, attempt, sentEnd({ providerId: '105' }))).toBe('late')
    const { kept } = await anchors()
    expect(kept).toMatchObject({ status: 'PENDING', providerId: '100' })
    expect(kept.protocol).toMatchObject({ unsettled: true, scan: { step: 0 } })
    world.clock.move(defaultPublishing.deliveryLeaseMs)
    expect((await publisher.leaseNamed('anchor')).delivery).toMatchObject({
      wait: 'in_doubt',
      protocol: { doubt: { action: 'create' } },
    })
  })

  it('an edit of the higher of two comments meanwhile does not remove it', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await publisher.send(await publisher.leaseNamed('anchor'), sentEnd({ providerId: '100' }))
    const { id } = await claim(right, 'b', 2000)
    await publisher.send(await publisher.leaseNamed('anchor'), sentEnd({ providerId: '105' }))
    world.clock.move(hour)
    await world.store.runs.reportStatus(
      { runId: id, leaseHash: null, text: 'half', actor: 'op' },
      null,
    )
    const leased = await publisher.leaseNamed('anchor')
    const attempt = await publisher.begun(leased)
    await merge()
    expect(await publisher.end(leased, attempt, sentEnd({ providerId: '105' }))).toBe('late')
    const { kept } = await anchors()
    expect(kept).toMatchObject({ providerId: '100', protocol: { surplus: ['105'] } })
  })

  it('a publisher that is about to create it finds that it exists', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await publisher.send(await publisher.leaseNamed('anchor'), sentEnd({ providerId: '100' }))
    await claim(right, 'b', 2000)
    const leased = await publisher.leaseNamed('anchor')
    await merge()
    expect(await publisher.begin(leased)).toEqual({ result: 'lost' })
    const { kept } = await anchors()
    expect(kept).toMatchObject({ providerId: '100', leaseId: null, dueAt: world.store.now() })
  })

  it('a run’s own status is kept until the target is given back', async () => {
    const { left, right, claim, merge } = await twoRows()
    const say = async (repo: string, pr: number, eventAt: number) => {
      const policy = { ...make().policy, announcement: announced }
      const made = pullRequestClaim({ repo, pr, head: 'a' }, { eventAt, policy })
      const held = await world.store.runs.claim(made, null)
      const { runId, leaseHash } = holderOf(held)
      const content = { context: 'own/lint', state: 'success', description: repo, targetUrl: null }
      const output = { name: 'lint', channel: 'github-status', content } as const
      const request = { runId, leaseHash, actor: 'test', ...output, rightsOf: () => allRights }
      await outbox().publish(request, null)
      return runId
    }
    await claim(left, 'b', 500)
    const older = await say(left, 6, 1000)
    const newer = await say(right, 7, 2000)
    await merge()
    await world.store.runs.cancel(newer, 'test', null)
    const { items } = await outbox().list({ channel: 'github-status' }, page)
    const [kept] = items.filter(({ name, reason }) => name === 'lint' && reason === null)
    expect(kept?.runId).toBe(older)
  })

  it('after a create of the newer one, it keeps looking in its former repository', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await publisher.publish()
    await claim(right, 'b', 2000)
    await publisher.send(await publisher.leaseNamed('anchor'), noAnswer)
    await merge()
    const { kept, given } = await anchors()
    expect(kept.protocol.doubt).toMatchObject({ action: 'create' })
    expect(kept.providerId).toBe(given.providerId)
    world.clock.move(day)
    const again = await publisher.leaseNamed('anchor')
    expect(again.ownRepositoryIds).toHaveLength(2)
    expect(again.ownRepositoryIds[0]).toBe(kept.repositoryId)
  })

  it('runs that had ended before are not announced again', async () => {
    const { left, right, claim, merge } = await twoRows()
    const ended = await claim(left, 'a', 1000)
    await world.store.runs.cancel(ended.id, 'test', null)
    await claim(right, 'b', 2000)
    await publisher.publish()
    world.clock.move(hour)
    await merge()
    const filter = { runId: ended.id, type: 'delivery.target_taken' } as const
    expect((await world.store.audit.list(filter, page)).items).toEqual([])
  })

  it('a newer one that showed nothing closes what the older one shows', async () => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await publisher.publish()
    const newer = await claim(right, 'b', 2000)
    await merge()
    await world.store.runs.cancel(newer.id, 'person', null)
    expect((await anchors()).kept).toMatchObject({ status: 'PENDING', final: true })
  })

  it.each([
    ['shows', sentEnd()],
    ['may show', noAnswer],
  ])('a newer one that was never shown closes what the older one %s', async (_how, end) => {
    const { left, right, claim, merge, anchors } = await twoRows()
    await claim(left, 'a', 1000)
    await publisher.send(await publisher.leaseNamed('anchor'), end)
    const newer = await claim(right, 'b', 2000)
    await world.store.runs.cancel(newer.id, 'person', null)
    world.clock.move(hour)
    await merge()
    const { kept } = await anchors()
    const isThere = end.what === 'sent'
    const wait = isThere ? 'due' : 'in_doubt'
    expect(kept).toMatchObject({ status: 'PENDING', final: true, runId: newer.id, wait })
    expect(kept.providerId === null).toBe(!isThere)
  })
}
