/**
 * Goal: runs that share a commit have check runs of one name there, and GitHub shows the newest.
 * The newest always belongs to the run whose result counts: if another check run covers it, it is
 * published once more, and only once.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion, policy, pullRequestClaim, unique } from '../claims.ts'
import { announced, contentOf, noAnswer, ManualPublisher, sentEnd } from './manual-publisher.ts'
import { openWorld, type OpenStore, type World } from '../world.ts'

const page = { limit: 100, cursor: null }
const hour = 3_600_000

export function sharedCheck(open: OpenStore): void {
  let world: World
  let publisher: ManualPublisher
  let repo: string
  beforeEach(async () => {
    world = await openWorld(open)
    publisher = new ManualPublisher(world)
    repo = unique('acme/repo')
  })
  afterEach(() => world.close())

  const claim = async (pr: number, name = repo): Promise<ClaimAnswer> => {
    const announcement = { ...announced, anchorPer: null }
    const own = { policy: { ...policy, announcement } }
    return await world.store.runs.claim(pullRequestClaim({ repo: name, pr, head: 'a' }, own), null)
  }
  const idOf = ({ run }: ClaimAnswer): string => run?.id ?? ''
  const cancel = (held: ClaimAnswer) => world.store.runs.cancel(idOf(held), 'test', null)
  const complete = (held: ClaimAnswer) => world.store.runs.complete(completion(held), null)
  /** The end of an attempt. As on GitHub, an edit keeps the id. */
  const answerTo = ({ channel, providerId }: Delivery) =>
    sentEnd(providerId === null || channel === 'github-status' ? {} : { providerId })
  const publish = async (): Promise<void> => {
    for (;;) {
      const due = await publisher.lease()
      if (due.length === 0) return
      for (const leased of due) await publisher.send(leased, answerTo(leased.delivery))
    }
  }
  const checks = async (): Promise<readonly Delivery[]> => {
    const { items } = await world.store.outbox.list({ channel: 'github-check' }, page)
    return items.toSorted((a, b) => Number(a.providerId) - Number(b.providerId))
  }
  const newest = async () => {
    const shown = (await checks()).at(-1)
    return shown === undefined ? null : [contentOf(shown)['conclusion'], shown.runId]
  }

  it('a result that was covered is published once more, by its own delivery', async () => {
    const five = await claim(5)
    await complete(five)
    await publish()
    const six = await claim(6)
    await publish()
    const covering = (await publisher.named(idOf(six), 'check')).providerId
    await cancel(six)
    await publish()
    expect(await newest()).toEqual(['success', idOf(five)])
    const again = await publisher.named(idOf(five), 'check again')
    expect(again).toMatchObject({ status: 'SENT', final: true, announces: false })
    expect(again.target).toBe(`check-again ${idOf(five)} 1 after ${covering}`)
    expect(again.markerKey).not.toBe((await publisher.named(idOf(five), 'check')).markerKey)
  })

  it('a covered result waits until the covering check run is known to exist', async () => {
    const five = await claim(5)
    await complete(five)
    await publish()
    const six = await claim(6)
    const check = await publisher.leaseNamed('check')
    await publisher.send(check, noAnswer)
    await cancel(six)
    expect(Object.keys(await publisher.of(idOf(five))).toSorted()).toEqual(['check', 'status'])
    world.clock.move(hour)
    const again = await publisher.leaseNamed('check')
    const found = [{ providerId: '9000', url: null, current: true, atWork: false }]
    const seen = { what: 'looked', found, unverified: false, hash: 'h', looks: 2 } as const
    await world.store.outbox.record(again.lease, seen)
    expect(await publisher.named(idOf(five), 'check again')).toMatchObject({ status: 'PENDING' })
  })

  it('a run that was active meanwhile and ends before anything of it was sent', async () => {
    const five = await claim(5)
    await complete(five)
    await publish()
    const six = await claim(6)
    await publish()
    await cancel(six)
    const closing = await publisher.leaseNamed('check')
    const seven = await claim(7)
    await publisher.send(closing, answerTo(closing.delivery))
    expect(Object.keys(await publisher.of(idOf(five)))).not.toContain('check again')
    await cancel(seven)
    await publish()
    expect(await publisher.named(idOf(seven), 'check')).toMatchObject({ reason: 'never_announced' })
    expect(await newest()).toEqual(['success', idOf(five)])
  })

  it('the end of one run and the result of the other at the same time', async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      repo = unique('acme/repo')
      const five = await claim(5)
      await publish()
      const six = await claim(6)
      await publish()
      await Promise.all(
        turn % 2 === 0 ? [cancel(six), complete(five)] : [complete(five), cancel(six)],
      )
      for (let due = await publisher.lease(); due.length > 0; due = await publisher.lease()) {
        await Promise.all(due.map((leased) => publisher.send(leased, answerTo(leased.delivery))))
      }
      const { items } = await world.store.outbox.list({ runId: idOf(five) }, page)
      const again = items.filter(({ name }) => name === 'check again')
      expect(again.map((one) => [one.status, contentOf(one)['conclusion']])).toEqual([
        ['SENT', 'success'],
      ])
    }
  })

  it('an operator who confirms what covers it causes it to be published once more', async () => {
    const five = await claim(5)
    await complete(five)
    await publish()
    const six = await claim(6)
    await publisher.send(await publisher.leaseNamed('check'), noAnswer)
    await cancel(six)
    const { id } = await publisher.named(idOf(six), 'check')
    await world.store.outbox.confirm(id, '9000', 'test', null)
    expect(await publisher.named(idOf(five), 'check again')).toMatchObject({ status: 'PENDING' })
  })

  describe('two names of one repository', () => {
    it('the result shows where a run of the same commits was cancelled', async () => {
      const [left, right] = [unique('acme/left'), unique('acme/right')]
      const number = 770_000 + (world.store.now() % 10_000)
      const passed = await claim(5, left)
      await complete(passed)
      await publish()
      const cancelled = await claim(5, right)
      await publish()
      await cancel(cancelled)
      await publish()
      await world.store.repositories.learn(left, number, 'now', 'test')
      await world.store.repositories.learn(right, number, 'now', 'test')
      await publish()
      expect(await newest()).toEqual(['success', idOf(passed)])
    })
  })
}
