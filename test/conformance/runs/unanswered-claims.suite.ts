/**
 * Goal: a claimer that never got the answer to its claim claims again and names the secret of the
 * first claim. If the first claim was granted, it gets that answer, and nothing is decided again.
 */
import { expect, it } from 'vitest'
import type { Claim } from '../../../src/domain/claim.ts'
import { grant, holderOf, leaseMs } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'

export function unansweredClaims(open: OpenStore): void {
  const world = useWorld(open)
  const make = () => new TestSubject(world())
  /** The next claim of a claimer that got no answer to `lost`. */
  const after = (lost: Claim) => ({ lease: grant({ unanswered: lost.lease ? [lost.lease] : [] }) })

  it('its own lease is returned again, with the reason and what it superseded', async () => {
    const subject = make()
    await subject.claim('a')
    const lost = subject.claimOf('b')
    const first = await world().store.runs.claim(lost, null)
    expect(first).toMatchObject({
      reason: 'superseded-prior',
      supersededKeys: [subject.claimOf('a').key],
    })
    const again = await subject.claim('b', after(lost))
    expect(again).toMatchObject({
      ...{ process: true, reason: 'superseded-prior', supersededKeys: first.supersededKeys },
      ...{ lease: first.lease, run: { id: first.run?.id, fence: first.run?.fence, attempt: 1 } },
    })
    const [, repeat] = await subject.audits('b')
    expect(repeat).toMatchObject({ type: 'run.claim_skipped', data: { told_again: true } })
    await world().store.runs.heartbeat(holderOf(again), null)
    await subject.complete(again)
    expect(await subject.run('b')).toMatchObject({ state: 'succeeded' })
  })

  it('a rerun is returned again and not counted as one more', async () => {
    const subject = make()
    await subject.complete(await subject.claim('a'))
    const lost = subject.claimOf('a', { rerun: true })
    await world().store.runs.claim(lost, null)
    const again = await subject.claim('a', { rerun: true, ...after(lost) })
    expect(again).toMatchObject({ reason: 'rerun', run: { round: 2, rerunWanted: false } })
  })

  it('another claimer is a duplicate', async () => {
    const subject = make()
    await subject.claim('a')
    const again = await subject.claim('a', after(subject.claimOf('a')))
    expect(again).toMatchObject({ reason: 'duplicate', process: false, lease: null })
  })

  it('a lease that ran out is reclaimed under the new secret', async () => {
    const subject = make()
    const lost = subject.claimOf('a')
    const first = await world().store.runs.claim(lost, null)
    world().clock.move(leaseMs)
    const again = await subject.claim('a', after(lost))
    expect(again).toMatchObject({ reason: 'reclaimed', run: { attempt: 2 } })
    expect(again.lease?.secret).not.toBe(first.lease?.secret)
  })

  it('a run that another holder has taken over since is not returned again', async () => {
    const subject = make()
    const lost = subject.claimOf('a')
    await world().store.runs.claim(lost, null)
    world().clock.move(leaseMs)
    await subject.claim('a')
    expect(await subject.claim('a', after(lost))).toMatchObject({
      reason: 'duplicate',
      lease: null,
    })
  })
}
