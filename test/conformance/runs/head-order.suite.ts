/**
 * Goal: the order of heads does not depend on the order in which their events arrive. If it cannot
 * be decided, the last arrival counts until GitHub has answered.
 * Method: times are small whole numbers, like GitHub's seconds.
 */
import { describe, expect, it } from 'vitest'
import { sha } from '../claims.ts'
import { TestSubject, type TestSubjectOptions } from '../test-subject.ts'
import { minute, useWorld, type OpenStore } from '../world.ts'

export function headOrder(open: OpenStore): void {
  const world = useWorld(open)
  const make = (options: TestSubjectOptions = {}) => new TestSubject(world(), options)

  describe('verified order', () => {
    it('a later event is newer and an earlier one is stale, whatever arrives first', async () => {
      const subject = make()
      await subject.claim('b', { eventAt: 2 })
      const late = await subject.claim('a', { eventAt: 1 })
      expect(late).toMatchObject({ reason: 'stale-event', process: false, lease: null })
      expect(late.run).toMatchObject({ state: 'skipped', errorCode: 'stale-event', orderAt: null })
      expect(await subject.state('b')).toBe('running')
      expect(await subject.isCurrent('b')).toBe(true)
    })

    it.each(['superseded', 'succeeded', 'failed'] as const)(
      'a stale event leaves the row of its key, which is %s, as it was',
      async (state) => {
        const subject = make()
        const way = state === 'superseded' ? 'running' : state
        await subject.putInState('a', way, { eventAt: 1 })
        await subject.claim('b', { eventAt: 5 })
        const before = await subject.run('a')
        const late = await subject.claim('a', { eventAt: 4 })
        expect(late).toMatchObject({ reason: 'stale-event', run: { state } })
        expect(await subject.run('a')).toEqual(before)
      },
    )

    it('A at 1, A at 3, then B at 2: A stays', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 1 })
      expect(await subject.claim('a', { eventAt: 3 })).toMatchObject({ reason: 'duplicate' })
      expect((await subject.subject()).headAt).toBe(3)
      expect(await subject.claim('b', { eventAt: 2 })).toMatchObject({ reason: 'stale-event' })
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it('an older event of the current head does not lower its order', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      await subject.claim('a', { eventAt: 3 })
      expect(await subject.subject()).toMatchObject({ headAt: 5, floorAt: 5 })
    })

    it('a head that returns has the order of the event that brought it back', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 1 })
      await subject.claim('b', { eventAt: 2 })
      await subject.claim('a', { eventAt: 4 })
      expect(await subject.claim('c', { eventAt: 3 })).toMatchObject({ reason: 'stale-event' })
    })
  })

  describe('equal times', () => {
    it('the one whose event replaced the other is newer', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      const next = await subject.claim('b', { eventAt: 5, beforeSha: sha('a') })
      expect(next).toMatchObject({ reason: 'superseded-prior', unclear: false })
      expect((await subject.subject()).headAt).toBe(5)
    })

    it('the one whose event replaced the other is newer, also if it arrives first', async () => {
      const subject = make()
      await subject.claim('b', { eventAt: 5, beforeSha: sha('a') })
      const late = await subject.claim('a', { eventAt: 5 })
      expect(late).toMatchObject({ reason: 'stale-event', unclear: false })
      expect(await subject.isCurrent('b')).toBe(true)
    })

    it('one that came back before the push that replaced it arrived: GitHub is asked', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 4 })
      await subject.claim('a', { eventAt: 5, beforeSha: sha('b') })
      const late = await subject.claim('b', { eventAt: 5, beforeSha: sha('a') })
      expect(late).toMatchObject({ reason: 'superseded-prior', unclear: true })
      expect(await subject.subject()).toMatchObject({ headAt: null, floorAt: 5 })
    })

    it('one that came back through a third, unknown head is found by asking GitHub', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 4 })
      await subject.claim('b', { eventAt: 5, beforeSha: sha('a') })
      const back = await subject.claim('a', { eventAt: 5, beforeSha: sha('c') })
      expect(back).toMatchObject({ reason: 'stale-event', unclear: false })
      world().clock.move(minute)
      const asked = await subject.run('b')
      let taken = await world().store.catchUp.takeHeadCheck()
      while (taken !== null && taken.run?.id !== asked.id) {
        taken = await world().store.catchUp.takeHeadCheck()
      }
      const seen = { headSha: sha('a'), baseSha: sha('main'), at: 5, actor: 'test' }
      await world().store.runs.confirmHead({ runId: asked.id, fence: taken!.fence, ...seen })
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it('without a decision the last arrival counts, unverified, and GitHub is asked', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      const next = await subject.claim('b', { eventAt: 5 })
      expect(next).toMatchObject({ reason: 'superseded-prior', unclear: true })
      expect(next.run?.orderAt).toBeNull()
      expect(await subject.subject()).toMatchObject({ headAt: null, floorAt: 5 })
    })
  })

  describe('missing times', () => {
    it('the last arrival counts, unverified, and GitHub is asked', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      const next = await subject.claim('b')
      expect(next).toMatchObject({ reason: 'superseded-prior', process: true, unclear: true })
      expect(next.run?.orderAt).toBeNull()
      expect(await subject.subject()).toMatchObject({ headAt: null, floorAt: 5 })
    })

    it('an unverified head makes no verified one stale', async () => {
      const subject = make()
      await subject.claim('a')
      const verified = await subject.claim('b', { eventAt: 1 })
      expect(verified).toMatchObject({ reason: 'superseded-prior', process: true })
      expect((await subject.subject()).headAt).toBe(1)
    })

    it('an event below the floor is stale, also against an unverified head', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      await subject.claim('b')
      expect(await subject.claim('c', { eventAt: 4 })).toMatchObject({ reason: 'stale-event' })
      expect(await subject.isCurrent('b')).toBe(true)
      const above = await subject.claim('d', { eventAt: 6 })
      expect(above).toMatchObject({ reason: 'superseded-prior', process: true })
    })

    it('an older event of the unverified head does not verify it, a newer one does', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      await subject.claim('b')
      await subject.claim('b', { eventAt: 4 })
      expect(await subject.subject()).toMatchObject({ headAt: null, floorAt: 5 })
      await subject.claim('b', { eventAt: 6 })
      expect(await subject.subject()).toMatchObject({ headAt: 6, floorAt: 6 })
    })

    it('an event without a time leaves the verified order of its head unchanged', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      await subject.claim('a')
      expect(await subject.subject()).toMatchObject({ headAt: 5, floorAt: 5 })
    })

    it('GitHub is also asked about an unverified head that queues behind another', async () => {
      const subject = new TestSubject(world(), { onNewer: 'queue' })
      await subject.claim('a', { eventAt: 1 })
      expect(await subject.claim('b')).toMatchObject({ reason: 'queued', unclear: true })
    })

    it('GitHub is not asked about a job', async () => {
      const subject = new TestSubject(world(), { kind: 'job', onNewer: 'supersede' })
      await subject.claim('a')
      const next = await subject.claim('b')
      expect(next).toMatchObject({ reason: 'superseded-prior', unclear: false })
    })
  })

  describe('mentions', () => {
    const mention = { headMaking: false } as const

    it('a label on the current head never raises its order', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 1 })
      await subject.claim('a', { ...mention, eventAt: 9 })
      expect((await subject.subject()).headAt).toBe(1)
      const next = await subject.claim('b', { eventAt: 2 })
      expect(next).toMatchObject({ reason: 'superseded-prior' })
    })

    it('a retry by a label does not raise the order either', async () => {
      const subject = make()
      await subject.putInState('a', 'failed', { eventAt: 1 })
      const retried = await subject.claim('a', { ...mention, eventAt: 9 })
      expect(retried).toMatchObject({ reason: 'retry' })
      expect(await subject.subject()).toMatchObject({ headAt: 1, floorAt: 1 })
      expect(await subject.claim('b', { eventAt: 2 })).toMatchObject({ process: true })
    })

    it('a label on a replaced head makes it current again, unverified', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 1 })
      await subject.claim('b', { eventAt: 2 })
      const back = await subject.claim('a', { ...mention, eventAt: 9 })
      expect(back).toMatchObject({ reason: 'returned', process: true, unclear: true })
      expect(await subject.subject()).toMatchObject({ headAt: null, floorAt: 2 })
      expect(await subject.state('b')).toBe('superseded')
    })

    it('a label from before the head that replaced its head is stale', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 1 })
      await subject.claim('b', { eventAt: 5 })
      const late = await subject.claim('a', { ...mention, eventAt: 4 })
      expect(late).toMatchObject({ reason: 'stale-event', process: false })
      expect(await subject.isCurrent('b')).toBe(true)
    })

    it('a label from before the last event of an unverified active head is stale', async () => {
      const subject = make()
      await subject.claim('a', { ...mention, eventAt: 1 })
      await subject.claim('b', { ...mention, eventAt: 10 })
      const late = await subject.claim('a', { ...mention, eventAt: 5 })
      expect(late).toMatchObject({ reason: 'stale-event', process: false })
      expect(await subject.isCurrent('b')).toBe(true)
    })

    it('comments on A, on B and on A again move the head each time', async () => {
      const subject = make()
      await subject.claim('a', { ...mention, eventAt: 1, webhookId: 'w1' })
      await subject.claim('b', { ...mention, eventAt: 10, webhookId: 'w2' })
      const back = await subject.claim('a', { ...mention, eventAt: 20, webhookId: 'w3' })
      expect(back).toMatchObject({ reason: 'returned', process: true, unclear: true })
      expect(await subject.state('b')).toBe('superseded')
      const again = await subject.claim('b', { ...mention, eventAt: 15, webhookId: 'w2' })
      expect(again).toMatchObject({ reason: 'stale-event', process: false })
    })

    it('GitHub is also asked about a head that returns while its run is queued', async () => {
      const subject = new TestSubject(world(), { onNewer: 'queue' })
      await subject.claim('a', { eventAt: 1 })
      await subject.claim('b', { eventAt: 2 })
      const back = await subject.claim('a', { ...mention, eventAt: 9 })
      expect(back).toMatchObject({ reason: 'duplicate', unclear: true })
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it('a label on an unknown head makes it current, unverified', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 1 })
      const first = await subject.claim('b', { ...mention, eventAt: 2 })
      expect(first).toMatchObject({ reason: 'superseded-prior', unclear: true })
      expect(await subject.subject()).toMatchObject({ headAt: null, floorAt: 1 })
    })

    it('a label from before the newest head is stale', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      const late = await subject.claim('b', { ...mention, eventAt: 4 })
      expect(late).toMatchObject({ reason: 'stale-event' })
    })
  })

  describe('what GitHub says', () => {
    const settle = async (runId: string, head: string, at: number) => {
      const fence = (await world().store.runs.get(runId))?.fence ?? 0
      const seen = { headSha: sha(head), baseSha: sha('main'), at }
      return world().store.runs.confirmHead({ runId, fence, ...seen, actor: 'check' })
    }

    it('confirms the head that arrival chose, and verifies it', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      const next = await subject.claim('b', { eventAt: 5 })
      const answer = await settle(next.run!.id, 'b', 7)
      expect(answer).toEqual({ result: 'confirmed', supersededRunIds: [] })
      expect(await subject.subject()).toMatchObject({ headAt: 7, floorAt: 7 })
      expect((await subject.run('b')).orderAt).toBe(7)
      expect((await subject.audits('b')).at(-1)?.type).toBe('run.head_verified')
      expect(await subject.claim('a', { eventAt: 6 })).toMatchObject({ reason: 'stale-event' })
    })

    it('moves the head back to the one that arrival had superseded', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      const next = await subject.claim('b', { eventAt: 5 })
      const answer = await settle(next.run!.id, 'a', 7)
      expect(answer).toEqual({ result: 'moved', supersededRunIds: [next.run?.id] })
      expect(await subject.run('a')).toMatchObject({ state: 'pending', round: 2 })
      expect(await subject.state('b')).toBe('superseded')
      expect(await subject.subject()).toMatchObject({ headAt: 7 })
    })

    it.each(['a', 'b'])(
      'moves the head back to %s, which is still queued or active',
      async (head) => {
        const subject = make({ onNewer: 'queue' })
        for (const name of ['a', 'b']) await subject.claim(name, { eventAt: 5 })
        const last = await subject.claim('c', { eventAt: 5 })
        expect(await settle(last.run!.id, head, 7)).toEqual({
          result: 'moved',
          supersededRunIds: [],
        })
        expect(await subject.isCurrent(head)).toBe(true)
        expect(await subject.state(head)).toBe(head === 'a' ? 'running' : 'pending')
      },
    )

    it('shows a finished head again when it is the head after all', async () => {
      const subject = make()
      await subject.putInState('a', 'succeeded', { eventAt: 5 })
      const next = await subject.claim('b', { eventAt: 5 })
      expect(await settle(next.run!.id, 'a', 7)).toMatchObject({ result: 'moved' })
      expect(await subject.run('a')).toMatchObject({ state: 'succeeded', round: 1 })
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it('waits for the event of a head that nobody has claimed', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      const next = await subject.claim('b')
      const answer = await settle(next.run!.id, 'c', 7)
      expect(answer).toEqual({ result: 'unknown-head', supersededRunIds: [] })
      expect(await subject.isCurrent('b')).toBe(true)
      expect(await subject.state('b')).toBe('running')
    })

    it('about the time before a newer head came changes nothing', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      const next = await subject.claim('b')
      await subject.claim('c', { eventAt: 9 })
      const answer = await settle(next.run!.id, 'a', 7)
      expect(answer.supersededRunIds).toEqual([])
      expect(await subject.isCurrent('c')).toBe(true)
      expect(await subject.state('c')).toBe('running')
      expect(await subject.state('a')).toBe('superseded')
    })

    it('that changes nothing has no audit row of a move', async () => {
      const subject = make()
      await subject.claim('a', { eventAt: 5 })
      const next = await subject.claim('b')
      await subject.claim('c', { eventAt: 9 })
      expect((await settle(next.run!.id, 'a', 7)).result).not.toBe('moved')
    })
  })
}
