/**
 * Goal: a head that comes back (A, then B, then A again), in whatever state A and B are then, and
 * what a person's rerun may do meanwhile.
 */
import { describe, expect, it } from 'vitest'
import { activeStates, endedStates, TestSubject, keyStates } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'

const orders = [
  { ordered: 'with times', at: (n: number) => ({ eventAt: n }) },
  { ordered: 'by arrival alone', at: () => ({}) },
] as const

export function returningHead(open: OpenStore): void {
  const world = useWorld(open)

  it('an older event of an ended key does not replace the active key', async () => {
    const subject = new TestSubject(world())
    await subject.putInState('a', 'cancelled', { eventAt: 5, rerun: true, headMaking: false })
    await subject.claim('b', { headMaking: false })
    const late = await subject.claim('a', { eventAt: 3, headMaking: true })
    expect(late).toMatchObject({ reason: 'duplicate', process: false })
    expect(await subject.state('b')).toBe('running')
    expect(await subject.isCurrent('b')).toBe(true)
  })

  describe.each(orders)('$ordered', ({ at }) => {
    it.each(activeStates)(
      'A was %s when B came: A starts again and B is superseded',
      async (way) => {
        const subject = new TestSubject(world())
        const first = await subject.putInState('a', way, at(1))
        const between = await subject.claim('b', at(2))
        const back = await subject.claim('a', at(3))
        expect(back).toMatchObject({ reason: 'returned', process: true })
        expect(back.supersededKeys).toEqual([between.runKey])
        expect(back.run).toMatchObject({
          id: first.run?.id,
          state: 'running',
          round: 2,
          attempt: 1,
        })
        expect(back.run?.supersededBy).toBeNull()
        expect(await subject.state('b')).toBe('superseded')
        expect(await subject.isCurrent('a')).toBe(true)
      },
    )

    it.each(activeStates)('A succeeded and B is %s: A is shown again without work', async (way) => {
      const subject = new TestSubject(world())
      const first = await subject.putInState('a', 'succeeded', at(1))
      const between = await subject.putInState('b', way, at(2))
      const back = await subject.claim('a', at(3))
      expect(back).toMatchObject({ reason: 'restored', process: false, lease: null })
      expect(back.supersededKeys).toEqual([between.runKey])
      expect(back.run).toMatchObject({ id: first.run?.id, state: 'succeeded', round: 1 })
      expect(await subject.state('b')).toBe('superseded')
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it.each(endedStates)('A succeeded and B is %s: A is shown again, and B stays', async (way) => {
      const subject = new TestSubject(world())
      await subject.putInState('a', 'succeeded', at(1))
      await subject.putInState('b', way, at(2))
      const back = await subject.claim('a', at(3))
      expect(back).toMatchObject({ reason: 'restored', process: false, supersededKeys: [] })
      expect(await subject.state('b')).toBe(way)
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it.each(['failed', 'cancelled', 'skipped'] as const)(
      'A was %s: its return is a retry, and B is superseded',
      async (way) => {
        const subject = new TestSubject(world())
        await subject.putInState('a', way, at(1))
        const between = await subject.claim('b', at(2))
        const back = await subject.claim('a', at(3))
        expect(back).toMatchObject({ reason: 'retry', process: true, run: { round: 2 } })
        expect(back.supersededKeys).toEqual([between.runKey])
        expect(await subject.isCurrent('a')).toBe(true)
      },
    )

    it('A was stored as stale: an event that makes it the head starts it', async () => {
      const subject = new TestSubject(world())
      await subject.claim('b', { eventAt: 2 })
      await subject.claim('a', { eventAt: 1 })
      expect(await subject.state('a')).toBe('skipped')
      const made = await subject.claim('a', { eventAt: 3 })
      expect(made).toMatchObject({ reason: 'retry', process: true, run: { state: 'running' } })
      expect(await subject.state('b')).toBe('superseded')
    })

    it('B, A and B again take turns, and every turn is a round', async () => {
      const subject = new TestSubject(world())
      for (let turn = 1; turn <= 3; turn++) {
        expect((await subject.claim('a', at(turn * 2))).run?.round).toBe(turn)
        expect((await subject.claim('b', at(turn * 2 + 1))).run?.round).toBe(turn)
      }
    })
  })

  it('a webhook sent again without a time does not bring a superseded head back', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a', { webhookId: 'w1' })
    await subject.claim('b', { webhookId: 'w2' })
    const repeated = await subject.claim('a', { webhookId: 'w1' })
    expect(repeated.process).toBe(false)
    expect(await subject.state('b')).toBe('running')
    expect(await subject.isCurrent('b')).toBe(true)
  })

  it('a webhook sent again without a time does not show a finished head again', async () => {
    const subject = new TestSubject(world())
    await subject.putInState('a', 'succeeded', { webhookId: 'w1' })
    await subject.claim('b', { webhookId: 'w2' })
    await subject.claim('a', { webhookId: 'w1' })
    expect(await subject.state('b')).toBe('running')
    expect(await subject.isCurrent('b')).toBe(true)
  })

  it('a webhook sent again does not decide an undecided order again', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a', { webhookId: 'w1', eventAt: 5 })
    await subject.claim('b', { webhookId: 'w2', eventAt: 5 })
    await subject.claim('a', { webhookId: 'w1', eventAt: 5 })
    expect(await subject.isCurrent('b')).toBe(true)
  })

  describe('a rerun', () => {
    const rerun = { rerun: true, headMaking: false } as const

    it.each(keyStates)(
      'of a key that is not current is refused, also when it is %s',
      async (way) => {
        const subject = new TestSubject(world())
        const old = await subject.putInState('a', way, { eventAt: 1 })
        await subject.claim('b', { eventAt: 2 })
        const before = await subject.run('a')
        const refusal = { code: 'not_current' }
        await expect(subject.claim('a', rerun)).rejects.toMatchObject(refusal)
        const { store } = world()
        await expect(store.runs.rerun(old.run!.id, 'person', null)).rejects.toMatchObject(refusal)
        expect(await subject.run('a')).toEqual(before)
      },
    )

    it.each([
      ['succeeded', 'rerun'],
      ['failed', 'retry'],
      ['running', 'returned'],
    ] as const)('of a head that GitHub itself names, once %s, is done', async (way, reason) => {
      const subject = new TestSubject(world())
      await subject.putInState('a', way, { eventAt: 1 })
      await subject.claim('b', { eventAt: 2 })
      const named = { ...rerun, headFromGitHub: true }
      const again = await subject.claim('a', { ...named, eventAt: 3 })
      expect(again).toMatchObject({ reason, process: true, unclear: true, run: { round: 2 } })
      expect(await subject.state('b')).toBe('superseded')
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it('of a head that GitHub named before a newer one came is refused', async () => {
      const subject = new TestSubject(world())
      await subject.putInState('a', 'succeeded', { eventAt: 1 })
      await subject.claim('b', { eventAt: 5 })
      const late = subject.claim('a', { ...rerun, headFromGitHub: true, eventAt: 4 })
      await expect(late).rejects.toMatchObject({ code: 'not_current' })
      expect(await subject.isCurrent('b')).toBe(true)
    })

    it.each(['succeeded', 'failed', 'skipped'] as const)(
      'while active starts the next round when this one has %s',
      async (outcome) => {
        const subject = new TestSubject(world())
        const held = await subject.claim('a')
        const asked = await world().store.runs.rerun(held.run!.id, 'person', null)
        expect(asked).toMatchObject({ reason: 'duplicate', process: false })
        await subject.claim('a', rerun)
        await subject.complete(held, outcome)
        const next = await subject.run('a')
        expect(next).toMatchObject({ state: 'pending', round: 2, attempt: 1, rerunWanted: false })
        expect(next).toMatchObject({ outcome: null, verdict: null, finishedAt: null })
        expect(next.fence).toBeGreaterThan(held.run!.fence)
        const again = await subject.lease()
        expect(again?.run.id).toBe(held.run?.id)
        await subject.complete(again!)
        expect(await subject.run('a')).toMatchObject({ state: 'succeeded', round: 2 })
      },
    )

    it('while active is forgotten when the run is cancelled', async () => {
      const subject = new TestSubject(world())
      const held = await subject.claim('a')
      await subject.claim('a', rerun)
      await world().store.runs.cancel(held.run!.id, 'person', null)
      expect(await subject.run('a')).toMatchObject({ state: 'cancelled', round: 1 })
      expect((await subject.run('a')).rerunWanted).toBe(false)
    })

    it('while active is forgotten when the run is superseded', async () => {
      const subject = new TestSubject(world())
      await subject.claim('a', { eventAt: 1 })
      await subject.claim('a', rerun)
      await subject.claim('b', { eventAt: 2 })
      expect(await subject.run('a')).toMatchObject({ state: 'superseded', rerunWanted: false })
    })

    it('while active also follows a round that the sweeper had to end', async () => {
      const subject = new TestSubject(world(), { pendingTimeoutMs: 1000 })
      const pending = await subject.claim('a', { lease: null })
      await subject.claim('a', rerun)
      world().clock.move(1000)
      await world().store.runs.sweep(pending.run!.id)
      expect(await subject.run('a')).toMatchObject({ state: 'pending', round: 2 })
    })

    it('while active knows the round before it as the last finished one', async () => {
      const subject = new TestSubject(world())
      const held = await subject.claim('a')
      await subject.claim('a', rerun)
      await subject.complete(held)
      expect(await subject.run('a')).toMatchObject({
        previousRunId: held.run?.id,
        previousHeadSha: held.run?.headSha,
        previousVerdict: 'success',
      })
    })

    it('by its id leaves the run pending, and the audit names who asked', async () => {
      const subject = new TestSubject(world())
      const held = await subject.putInState('a', 'succeeded')
      const again = await world().store.runs.rerun(held.run!.id, 'person', null)
      expect(again).toMatchObject({ reason: 'rerun', process: true, lease: null })
      expect(again.run).toMatchObject({ state: 'pending', round: 2 })
      const last = (await subject.audits('a')).at(-1)
      expect(last).toMatchObject({
        type: 'run.claimed',
        actor: 'person',
        data: { reason: 'rerun' },
      })
    })

    it('of an unknown run is not found', async () => {
      const rerun = world().store.runs.rerun('run_unknown', 'person', null)
      await expect(rerun).rejects.toMatchObject({ code: 'run_not_found' })
    })
  })
}
