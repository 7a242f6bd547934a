/**
 * Goal: two pull requests can have the same head commit, and then share its status. The newer run
 * has it. A run that ends without a result hides no result of another, and every status that is not
 * sent is audited.
 */
import { beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion, holderOf, policy, pullRequestClaim, unique } from '../claims.ts'
import { announced, contentOf, sentEnd } from './manual-publisher.ts'
import { idOf, useSharedTarget } from './shared-target.ts'
import { type OpenStore } from '../world.ts'

export function sharedCommit(open: OpenStore): void {
  let repo: string
  beforeEach(() => {
    repo = unique('acme/repo')
  })
  const target = useSharedTarget(open, () => status())
  const { world, publisher, complete, cancel, shows, dropped } = target

  const claim = async (pr: number, head = 'a'): Promise<ClaimAnswer> => {
    const own = { policy: { ...policy, announcement: announced } }
    return await world.store.runs.claim(pullRequestClaim({ repo, pr, head }, own), null)
  }
  const status = async (head = 'a'): Promise<Delivery> => {
    const { items } = await world.store.outbox.list(
      { channel: 'github-status' },
      { limit: 100, cursor: null },
    )
    const sha = pullRequestClaim({ repo, pr: 5, head }).headSha
    const found = items.find((item) => item.sha === sha)
    if (found === undefined) throw new Error('there is no status')
    return found
  }
  const publish = () => publisher.publish()

  it('the newer run has it, and what the older one says is dropped and audited', async () => {
    const five = await claim(5)
    const six = await claim(6)
    expect(await shows()).toEqual(['pending', idOf(six)])
    await complete(five)
    expect(await shows()).toEqual(['pending', idOf(six)])
    expect(await dropped(five)).toEqual([['succeeded', idOf(six)]])
  })

  it('reports of the older one change nothing and are not audited as dropped', async () => {
    const five = await claim(5)
    await claim(6)
    for (const text of ['reading', 'half', 'nearly']) {
      const { runId, leaseHash } = holderOf(five)
      await world.store.runs.reportStatus({ runId, leaseHash, text, actor: 'test' }, null)
    }
    expect(await dropped(five)).toEqual([])
  })

  it('a newer run that is cancelled shows the older one again, and how that ends', async () => {
    const five = await claim(5)
    await publish()
    const six = await claim(6)
    await publish()
    await cancel(six)
    expect(await shows()).toEqual(['pending', idOf(five)])
    expect(await dropped(six)).toEqual([['cancelled', idOf(five)]])
    await publish()
    await complete(five)
    expect(await shows()).toEqual(['success', idOf(five)])
    expect(await status()).toMatchObject({ status: 'PENDING', final: true, announces: false })
  })

  it('two runs superseded at once, before anything was shown, skip the status', async () => {
    await claim(5)
    await claim(6)
    const { id } = await status()
    await Promise.all([claim(6, 'c'), claim(5, 'b')])
    expect(await status()).toMatchObject({ status: 'SKIPPED', reason: 'never_announced' })
    const filter = { deliveryId: id, type: 'delivery.skipped' } as const
    const { items } = await world.store.audit.list(filter, { limit: 100, cursor: null })
    expect(items.map(({ data }) => data['reason'])).toEqual(['never_announced'])
  })

  describe('an older run that has passed is shown again when the newer one', () => {
    it.each<[string, (six: ClaimAnswer) => Promise<unknown>]>([
      ['is cancelled', cancel],
      ['is skipped', (six) => complete(six, 'skipped')],
      ['is superseded by a push', () => claim(6, 'b')],
    ])('%s', async (_how, end) => {
      const five = await claim(5)
      await publish()
      await complete(five)
      await publish()
      const six = await claim(6)
      await publish()
      await end(six)
      expect(await shows()).toEqual(['success', idOf(five)])
    })

    it('is cancelled before anything of it was sent, after the older one ended', async () => {
      const five = await claim(5)
      await publish()
      const six = await claim(6)
      await complete(five)
      await cancel(six)
      expect(await shows()).toEqual(['success', idOf(five)])
      expect(await status()).toMatchObject({ status: 'PENDING', final: true })
    })
  })

  it('of several others the newest is shown, and when that one ends too, the next', async () => {
    const four = await claim(4)
    const five = await claim(5)
    const six = await claim(6)
    await publish()
    await cancel(six)
    expect(await shows()).toEqual(['pending', idOf(five)])
    await cancel(five)
    expect(await shows()).toEqual(['pending', idOf(four)])
    await cancel(four)
    expect((await shows())[1]).toBe(idOf(four))
    expect(await status()).toMatchObject({ announces: false })
  })

  it('a newer claim takes the status from one that is shown again', async () => {
    const five = await claim(5)
    const six = await claim(6)
    await publish()
    await cancel(six)
    const seven = await claim(7)
    expect(await shows()).toEqual(['pending', idOf(seven)])
    await complete(five)
    expect(await shows()).toEqual(['pending', idOf(seven)])
  })

  it('a run that failed keeps the status', async () => {
    await claim(5)
    const six = await claim(6)
    await world.store.runs.complete(completion(six, 'failed'), null)
    expect((await shows())[1]).toBe(idOf(six))
  })

  it('a version being sent when the other is shown again does not count as newer', async () => {
    const five = await claim(5)
    const six = await claim(6)
    const leased = await publisher.leaseNamed('status')
    const attempt = await publisher.begun(leased)
    await cancel(six)
    await complete(five)
    await publisher.end(leased, attempt, sentEnd())
    expect(await status()).toMatchObject({ status: 'PENDING', runId: idOf(five), final: true })
  })

  it('an end and a cancellation at once leave the result shown', async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      repo = unique('acme/repo')
      const five = await claim(5)
      const six = await claim(6)
      await Promise.all(
        turn % 2 === 0 ? [cancel(six), complete(five)] : [complete(five), cancel(six)],
      )
      const page = { limit: 10, cursor: null }
      const { items } = await world.store.outbox.list({ runId: idOf(five) }, page)
      const shown = items.find(({ channel }) => channel === 'github-status')
      expect(shown && contentOf(shown)['state']).toBe('success')
    }
  })
}
