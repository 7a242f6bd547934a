/**
 * Goal: two runs of one pair of commits, claimed under two names of a repository, show one result
 * each once the names turn out to be one: statuses, check runs and comments are not doubled.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { expect, it } from 'vitest'
import type { Announcement } from '../../../src/domain/run.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion, holderOf, pullRequestClaim, unique } from '../claims.ts'
import { announced, noAnswer } from './manual-publisher.ts'
import { useOutbox } from './outbox-world.ts'
import { hour, type OpenStore } from '../world.ts'

const page = { limit: 100, cursor: null }

export function mergingOfOnePair(open: OpenStore): void {
  const { world, publisher, outbox, make } = useOutbox(open)

  /** One pair of commits that is claimed under both names: first by us, then by a caller. */
  async function onePair(announcement: Announcement = announced) {
    const [left, right] = [unique('acme/left'), unique('acme/right')]
    const githubId = 790_000 + (world.store.now() % 10_000)
    const policy = { ...make().policy, announcement }
    const claim = async (repo: string, isHeld: boolean) => {
      const made = pullRequestClaim({ repo, pr: 5, head: 'a' }, { eventAt: 1000, policy })
      return await world.store.runs.claim(isHeld ? made : { ...made, lease: null }, null)
    }
    await world.store.repositories.learn(left, githubId, 'now', 'test')
    return {
      left,
      right,
      claim,
      merge: () => world.store.repositories.learn(right, githubId, 'now', 'test'),
    }
  }

  it('an unanswered status is looked for before it is written again', async () => {
    const { left, right, claim, merge } = await onePair()
    const held = await claim(left, true)
    await publisher.send(await publisher.leaseNamed('status'), noAnswer)
    const { protocol } = await publisher.named(held.run!.id, 'status')
    await claim(right, false)
    await merge()
    const { items } = await outbox().list({ runId: held.run!.id }, page)
    const kept = items.find(({ name, reason }) => name === 'status' && reason === null)
    expect(kept).toMatchObject({ status: 'PENDING', wait: 'in_doubt' })
    expect(kept?.protocol.doubt).toEqual({ ...protocol.doubt, looks: 0 })
  })

  it('the active run continues to show its result', async () => {
    const { left, right, claim, merge } = await onePair()
    const held = await claim(left, true)
    await publisher.publish()
    const { providerId } = await publisher.named(held.run!.id, 'check')
    const waiting = await claim(right, false)
    await merge()
    expect(await publisher.named(held.run!.id, 'check')).toMatchObject({ providerId })
    await world.store.runs.complete(completion(held), null)
    await publisher.publish()
    const { items } = await outbox().list({ runId: held.run!.id }, page)
    const shown = items.filter(({ reason }) => reason !== 'target_taken')
    expect(shown.map(({ name }) => name).toSorted()).toEqual(['anchor', 'check', 'status'])
    for (const one of shown) expect(one).toMatchObject({ status: 'SENT', final: true })
    const other = await publisher.named(waiting.run!.id, 'check')
    expect(other).toMatchObject({ status: 'SKIPPED', providerId: null })
  })

  it('of two check runs that are not created yet, one is created', async () => {
    const { left, right, claim, merge } = await onePair()
    const older = await claim(left, true)
    await world.store.runs.complete(completion(older), null)
    const newer = await claim(right, true)
    await world.store.runs.complete(completion(newer), null)
    await merge()
    const [one, other] = [older, newer].map(({ run }) => publisher.named(run!.id, 'check'))
    expect([(await one!).status, (await other!).status].toSorted()).toEqual(['PENDING', 'SKIPPED'])
  })

  it.each([false, true])('a check run continues (ended: %s)', async (ended) => {
    const { left, right, claim, merge } = await onePair()
    const waiting = await claim(left, ended)
    await publisher.publish()
    if (ended) await world.store.runs.complete(completion(waiting, 'failed'), null)
    const { providerId } = await publisher.named(waiting.run!.id, 'check')
    const held = await claim(right, true)
    await merge()
    expect(await publisher.named(waiting.run!.id, 'check')).toMatchObject({
      reason: 'target_taken',
    })
    expect(await publisher.named(held.run!.id, 'check')).toMatchObject({ providerId })
  })

  it.each([
    ['is under way', false],
    ['is over', true],
  ])('of one pair, where the second %s: its check run is searched for', async (_name, isOver) => {
    const { left, right, claim, merge } = await onePair()
    const held = await claim(left, true)
    await world.store.runs.complete(completion(held), null)
    await publisher.publish()
    const { providerId } = await publisher.named(held.run!.id, 'check')
    const waiting = await claim(right, true)
    await publisher.send(await publisher.leaseNamed('check'), noAnswer)
    if (isOver) await world.store.runs.complete(completion(waiting, 'failed'), null)
    await merge()
    const given = { status: 'SKIPPED', reason: 'target_taken', providerId: null }
    expect(await publisher.named(waiting.run!.id, 'check')).toMatchObject(given)
    const protocol = { unsettled: true, scan: { step: 0 } }
    expect(await publisher.named(held.run!.id, 'check')).toMatchObject({ providerId, protocol })
  })

  it('two ended runs share the existing check run', async () => {
    const { left, right, claim, merge } = await onePair()
    const first = await claim(left, true)
    await world.store.runs.complete(completion(first), null)
    await publisher.publish()
    const { providerId } = await publisher.named(first.run!.id, 'check')
    const second = await claim(right, true)
    await publisher.send(await publisher.leaseNamed('check'), noAnswer)
    await world.store.runs.complete(completion(second), null)
    await merge()
    const given = { status: 'SKIPPED', reason: 'target_taken' }
    expect(await publisher.named(first.run!.id, 'check')).toMatchObject(given)
    expect(await publisher.named(second.run!.id, 'check')).toMatchObject({
      providerId,
      final: true,
    })
  })

  it('a completed check run stays, and the next one is created', async () => {
    const { left, right, claim, merge } = await onePair()
    const failed = await claim(left, true)
    await world.store.runs.complete(completion(failed, 'failed'), null)
    await publisher.publish()
    const { providerId } = await publisher.named(failed.run!.id, 'check')
    const held = await claim(right, true)
    await merge()
    expect(await publisher.named(failed.run!.id, 'check')).toMatchObject({
      status: 'SENT',
      providerId,
    })
    expect(await publisher.named(held.run!.id, 'check')).toMatchObject({ providerId: null })
  })

  it('a look for the next check run does not take the completed one', async () => {
    const { left, right, claim, merge } = await onePair()
    const failed = await claim(left, true)
    await world.store.runs.complete(completion(failed, 'failed'), null)
    await publisher.publish()
    const first = await publisher.named(failed.run!.id, 'check')
    const held = await claim(right, true)
    await publisher.send(await publisher.leaseNamed('check'), noAnswer)
    await merge()
    await world.store.runs.complete(completion(held), null)
    const { lease, delivery } = await publisher.leaseNamed('check')
    expect(delivery).toMatchObject({ runId: held.run!.id, markerKey: first.markerKey })
    const found = [{ providerId: first.providerId!, url: null, current: false, atWork: false }]
    const seen = { what: 'looked', found, unverified: false, hash: 'h', looks: 2 } as const
    await outbox().record(lease, seen)
    expect(await publisher.named(held.run!.id, 'check')).toMatchObject({ providerId: null })
    expect(await publisher.named(failed.run!.id, 'check')).toEqual(first)
  })

  it('a look for one run’s output does not take the other run’s output', async () => {
    const { left, right, claim, merge } = await onePair({ ...announced, anchorPer: null })
    const [one, other] = [await claim(left, true), await claim(right, true)]
    const publish = (held: ClaimAnswer) => {
      const output = {
        name: 'own',
        channel: 'github-review',
        content: { body: held.run!.id },
      } as const
      const request = { ...holderOf(held), actor: 'test', ...output, rightsOf: () => allRights }
      return outbox().publish(request, null)
    }
    await publish(one)
    await publisher.publish()
    const first = await publisher.named(one.run!.id, 'own')
    await publish(other)
    await publisher.send(await publisher.leaseNamed('own'), noAnswer)
    await merge()
    const { lease, delivery } = await publisher.leaseNamed('own')
    expect(delivery).toMatchObject({ runId: other.run!.id, markerKey: first.markerKey })
    const found = [{ providerId: first.providerId!, url: null, current: false }]
    const seen = { what: 'looked', found, unverified: false, hash: 'h', looks: 2 } as const
    await outbox().record(lease, seen)
    expect(await publisher.named(other.run!.id, 'own')).toMatchObject({ providerId: null })
  })

  it.each([
    ['shown', true],
    ['unshown', false],
  ])('the active run is shown, the other ended %s', async (_how, isShown) => {
    const { left, right, claim, merge } = await onePair()
    const held = await claim(left, true)
    await publisher.publish()
    const other = await claim(right, false)
    if (isShown) await publisher.publish()
    await world.store.runs.cancel(other.run!.id, 'person', null)
    if (isShown) await publisher.publish()
    world.clock.move(hour)
    await merge()
    await world.store.runs.complete(completion(held), null)
    const { items } = await outbox().list({ runId: held.run!.id }, page)
    const shown = items.filter(({ reason }) => reason !== 'target_taken')
    expect(shown.map(({ name }) => name).toSorted()).toEqual(['anchor', 'check', 'status'])
    for (const one of shown) expect(one).toMatchObject({ status: 'PENDING', final: true })
    const filter = { runId: held.run!.id, type: 'run.claim_skipped' } as const
    const [skipped] = (await world.store.audit.list(filter, page)).items
    expect(skipped?.data).toMatchObject({ reason: 'duplicate', key: other.run!.key })
  })

  it('separate comments become one', async () => {
    const { left, right, claim, merge } = await onePair({ ...announced, anchorPer: 'run' })
    const waiting = await claim(left, false)
    await publisher.publish()
    const { providerId } = await publisher.named(waiting.run!.id, 'anchor')
    const held = await claim(right, true)
    await merge()
    expect(await publisher.named(held.run!.id, 'anchor')).toMatchObject({ providerId })
    expect(await publisher.named(waiting.run!.id, 'anchor')).toMatchObject({
      reason: 'target_taken',
    })
  })
}
