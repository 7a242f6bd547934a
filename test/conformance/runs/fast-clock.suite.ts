/**
 * Goal: a claim by a clock that is a little fast does not replace a newer head: when a head seems
 * older by no more than clocks may differ, GitHub is asked and decides.
 */
import { expect, it } from 'vitest'
import { sha } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { minute, useWorld, type OpenStore } from '../world.ts'

export function fastClock(open: OpenStore): void {
  const world = useWorld(open)
  const make = () => new TestSubject(world())
  const asked = async (runId: string): Promise<number | null> => {
    let taken = await world().store.catchUp.takeHeadCheck()
    while (taken !== null && taken.run?.id !== runId) {
      taken = await world().store.catchUp.takeHeadCheck()
    }
    return taken?.fence ?? null
  }
  const settle = async (runId: string, fence: number, head: string, at = 11_000) => {
    const seen = { headSha: sha(head), baseSha: sha('main'), at, actor: 'check' }
    return (await world().store.runs.confirmHead({ runId, fence, ...seen })).result
  }

  it('a push is stale at first, and becomes the head when GitHub says so', async () => {
    const subject = make()
    const { run } = await subject.claim('a', { eventAt: 14_000 })
    const push = await subject.claim('b', { eventAt: 11_000, beforeSha: sha('a') })
    expect(push).toMatchObject({ reason: 'stale-event', process: false, unclear: false })
    // Right after a push GitHub may still name the previous head: that settles nothing.
    expect(await settle(run!.id, push.decisionId, 'b')).toBe('unchanged')
    world().clock.move(minute)
    const fence = await asked(run!.id)
    expect(fence).toBe(push.decisionId)
    expect(await settle(run!.id, fence!, 'b')).toBe('moved')
    expect([await subject.state('a'), await subject.state('b')]).toEqual(['superseded', 'pending'])
    expect(await subject.subject()).toMatchObject({ headAt: 14_000, floorAt: 14_000 })
  })

  it('a push that its rule refused becomes the head, and is still not worked on', async () => {
    const subject = make()
    const { run } = await subject.claim('a', { eventAt: 14_000 })
    await subject.claim('b', { eventAt: 11_000, skipReason: 'bot author' })
    world().clock.move(minute)
    expect(await settle(run!.id, (await asked(run!.id))!, 'b')).toBe('moved')
    expect([await subject.state('a'), await subject.state('b')]).toEqual(['superseded', 'skipped'])
  })

  it('a head that only catch-up has seen is asked about too', async () => {
    const subject = make()
    const { run } = await subject.claim('a', { eventAt: 14_000 })
    await subject.claim('b', { eventAt: 11_000, headMaking: false, headFromGitHub: true })
    world().clock.move(minute)
    expect(await settle(run!.id, (await asked(run!.id))!, 'b')).toBe('moved')
  })

  it('an old event that came late is asked about too, and changes nothing', async () => {
    const subject = make()
    const { run } = await subject.claim('b', { eventAt: 14_000 })
    await subject.claim('a', { eventAt: 11_000 })
    world().clock.move(minute)
    expect(await settle(run!.id, (await asked(run!.id))!, 'b', 14_000)).toBe('confirmed')
    expect(await subject.state('b')).toBe('running')
  })

  it('a head that is older by more is stale, and GitHub is not asked', async () => {
    const subject = make()
    const { run } = await subject.claim('b', { eventAt: 14_000 })
    await subject.claim('a', { eventAt: 9000 })
    world().clock.move(minute)
    expect(await asked(run!.id)).toBeNull()
  })
}
