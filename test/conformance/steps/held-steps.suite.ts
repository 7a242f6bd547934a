/**
 * Goal: a step that only a person can decide about lets its run wait, without a holder and without
 * a timeout, until somebody decides, the late result comes, or a week is over. Then the run goes on
 * in the same attempt with a new fence.
 */
import { describe, expect, it } from 'vitest'
import { heldStepMs } from '../../../src/domain/step.ts'
import { completion, unique } from '../claims.ts'
import { announced, contentOf, ManualPublisher } from '../outbox/manual-publisher.ts'
import { onceOf } from '../runs/idempotency.suite.ts'
import { day, hour, useWorld, type OpenStore } from '../world.ts'
import { codeOf, StepHolder, SteppedRun } from './step-holder.ts'

export function heldSteps(open: OpenStore): void {
  const world = useWorld(open)
  const make = () => new SteppedRun(world())

  describe('holding a step', () => {
    it('lets the run wait, and its holder has lost it', async () => {
      const run = make()
      const { next } = await run.inDoubt('model')
      const before = await run.subject.run('a')
      expect(await next.hold('model')).toMatchObject({ reply: 'held', step: { state: 'held' } })
      const after = await run.subject.run('a')
      expect(after).toMatchObject({
        ...{ state: 'waiting', leaseHash: null, holder: null, deadlineAt: null, availableAt: null },
        ...{ attempt: before.attempt, round: before.round },
        dueAt: world().store.now() + heldStepMs,
      })
      expect(await codeOf(next.begin('other'))).toBe('lease_lost')
      expect(await run.subject.lease()).toBeNull()
      expect(await run.audits()).toEqual(['step.in_doubt', 'step.held'])
      const row = (await run.subject.audits('a')).at(-1)
      expect(row).toMatchObject({ id: after.fence, data: { run_state: 'waiting' } })
    })

    it('by whoever began it works too', async () => {
      const run = make()
      const holder = await run.first()
      await holder.begin('model', 'hold')
      expect(await holder.hold('model')).toMatchObject({ reply: 'held' })
      expect(await run.subject.state('a')).toBe('waiting')
    })

    it('again, after its answer was lost, is answered again', async () => {
      const run = make()
      const { lost, next } = await run.held('model')
      expect(await next.hold('model')).toMatchObject({ reply: 'held', step: { state: 'held' } })
      expect(await codeOf(lost.hold('model'))).toBe('lease_lost')
      expect(await codeOf(next.hold('other'))).toBe('lease_lost')
      expect(await run.audits()).toEqual(['step.in_doubt', 'step.held'])
    })

    it('of a step that has a result changes nothing', async () => {
      const run = make()
      const holder = await run.first()
      await holder.begin('model')
      await holder.record('model')
      expect(await holder.hold('model')).toMatchObject({ reply: 'known' })
      expect(await run.subject.state('a')).toBe('running')
    })

    it('shows that the run waits for a person', async () => {
      const run = new SteppedRun(world(), { announcement: announced })
      await run.held('model')
      const publisher = new ManualPublisher(world())
      const anchor = await publisher.named(await run.runId, 'anchor')
      expect(contentOf(anchor).view.state).toBe('waiting')
      await run.decide('model', { do: 'repeat' })
      const after = await publisher.named(await run.runId, 'anchor')
      expect(contentOf(after).view.state).toBe('pending')
    })

    it('leaves the other steps: their late results count', async () => {
      const run = make()
      const holder = await run.first()
      await holder.begin('model')
      await holder.begin('other')
      await holder.hold('model')
      expect(await codeOf(holder.record('other', '1'))).toBe('lease_lost')
      expect(await run.step('other')).toMatchObject({ state: 'done' })
      expect(await run.subject.state('a')).toBe('waiting')
    })
  })

  describe('a decision', () => {
    it.each([
      [{ do: 'confirm', result: '9' }, { state: 'done', result: '9' }, 'known'],
      [{ do: 'repeat' }, { state: 'open', startId: '' }, 'began'],
      [{ do: 'fail', text: 'broken' }, { state: 'failed', errorText: 'broken' }, 'known'],
    ] as const)('%o makes the run pending, in the same attempt', async (decision, step, reply) => {
      const run = make()
      await run.held('model')
      const before = await run.subject.run('a')
      const decided = await run.decide('model', decision)
      expect(decided.step).toMatchObject(step)
      expect(decided.run).toMatchObject({ state: 'pending', availableAt: world().store.now() })
      expect(decided.run.attempt).toBe(before.attempt)
      expect(decided.run.fence).toBeGreaterThan(before.fence)
      expect([await run.step('model'), await run.subject.run('a')]).toEqual([
        decided.step,
        decided.run,
      ])
      const row = (await run.subject.audits('a')).at(-1)
      expect(row).toMatchObject({ id: decided.run.fence, actor: 'ann', causeId: before.fence })
      expect(row?.data).toMatchObject({ step: 'model', run_state: 'pending' })
      const next = await run.lease()
      expect(await next.begin('model')).toMatchObject({ reply })
      expect(await run.subject.run('a')).toMatchObject({ attempt: before.attempt })
    })

    it('is made once: the second is refused, and a repeat under its key is not', async () => {
      const run = make()
      await run.held('model')
      const request = { runId: await run.runId, name: 'model', actor: 'ann' }
      const confirm = { ...request, decision: { do: 'confirm', result: '1' } } as const
      const key = onceOf(unique('key'))
      const first = await world().store.steps.decide(confirm, key)
      expect(await world().store.steps.decide(confirm, key)).toEqual(first)
      expect(await codeOf(run.decide('model', { do: 'repeat' }))).toBe('step_not_held')
      expect((await run.step('model')).result).toBe('1')
    })

    it('of two at once one counts', async () => {
      const run = make()
      await run.held('model')
      const codes = await Promise.all([
        codeOf(run.decide('model', { do: 'confirm', result: '1' })),
        codeOf(run.decide('model', { do: 'repeat' })),
        codeOf(run.decide('model', { do: 'fail', text: null })),
      ])
      expect(codes.toSorted()).toEqual(['no error', 'step_not_held', 'step_not_held'])
    })

    it('needs a run and a step that exist, and a step that is held', async () => {
      const run = make()
      const { next } = await run.inDoubt('model')
      expect(await codeOf(run.decide('none', { do: 'repeat' }))).toBe('step_not_found')
      expect(await codeOf(run.decide('model', { do: 'repeat' }))).toBe('step_not_held')
      const unknown = { runId: 'run_none', name: 'model', actor: 'ann' }
      const deciding = world().store.steps.decide({ ...unknown, decision: { do: 'repeat' } }, null)
      expect(await codeOf(deciding)).toBe('run_not_found')
      expect(await next.takeOver('model')).toMatchObject({ reply: 'began' })
    })

    it.each([
      ['superseded', (run: SteppedRun) => run.subject.claim('b')],
      [
        'cancelled',
        async (run: SteppedRun) => world().store.runs.cancel(await run.runId, 'ann', null),
      ],
      [
        'failed',
        async (run: SteppedRun) => {
          world().clock.move(heldStepMs)
          await world().store.runs.sweep(await run.runId)
        },
      ],
    ] as const)('about a run that was %s changes nothing', async (state, end) => {
      const run = make()
      await run.held('model')
      await end(run)
      const before = [await run.subject.run('a'), await run.step('model')]
      expect(before[0]).toMatchObject({ state })
      expect(await codeOf(run.decide('model', { do: 'repeat' }))).toBe('not_active')
      expect([await run.subject.run('a'), await run.step('model')]).toEqual(before)
    })

    it('to repeat ends the right of an old holder to store a result', async () => {
      const run = make()
      const { lost } = await run.held('model')
      await run.decide('model', { do: 'repeat' })
      expect(await codeOf(lost.record('model', '5'))).toBe('lease_lost')
      expect(await run.step('model')).toMatchObject({ state: 'open', result: null })
      const next = await run.lease()
      expect(await next.begin('model')).toMatchObject({ reply: 'began', step: { attempt: 2 } })
    })
  })

  describe('the late result of a held step', () => {
    it('closes it, and the run is pending again in the same attempt', async () => {
      const run = make()
      const { lost } = await run.held('model')
      const before = await run.subject.run('a')
      expect(await codeOf(lost.record('model', '5'))).toBe('lease_lost')
      expect(await run.step('model')).toMatchObject({ state: 'done', result: '5' })
      const after = await run.subject.run('a')
      expect(after).toMatchObject({ state: 'pending', attempt: before.attempt })
      expect((await run.subject.audits('a')).at(-1)).toMatchObject({
        ...{ id: after.fence, type: 'step.late', causeId: before.fence },
        data: { state: 'held', counted: true, run_state: 'pending' },
      })
      expect(await codeOf(run.decide('model', { do: 'repeat' }))).toBe('step_not_held')
    })

    it('and a decision at once: one of them counts', async () => {
      const run = make()
      const { lost } = await run.held('model')
      const [result, decision] = await Promise.all([
        codeOf(lost.record('model', '5')),
        codeOf(run.decide('model', { do: 'confirm', result: '9' })),
      ])
      expect(result).toBe('lease_lost')
      const wasDecided = decision === 'no error'
      expect(await run.step('model')).toMatchObject({ result: wasDecided ? '9' : '5' })
      expect(await run.subject.state('a')).toBe('pending')
    })

    it('of a run that has ended closes the step alone', async () => {
      const run = make()
      const { lost } = await run.held('model')
      await world().store.runs.cancel(lost.runId, 'ann', null)
      const before = await run.subject.run('a')
      expect(await codeOf(lost.record('model', '5'))).toBe('cancelled')
      expect(await run.step('model')).toMatchObject({ state: 'done' })
      expect(await run.subject.run('a')).toEqual(before)
    })
  })

  describe('a run that waits for a decision', () => {
    it('is left alone for 7 days, then fails with step_unresolved', async () => {
      const run = make()
      await run.held('model')
      const runId = await run.runId
      world().clock.move(heldStepMs - 1)
      expect(await world().store.runs.due(10_000)).not.toContain(runId)
      expect(await world().store.runs.sweep(runId)).toBeNull()
      world().clock.move(1)
      expect(await world().store.runs.due(10_000)).toContain(runId)
      expect(await world().store.runs.sweep(runId)).toMatchObject({
        state: 'failed',
        errorCode: 'step_unresolved',
      })
      expect((await run.subject.audits('a')).at(-1)).toMatchObject({ type: 'run.failed' })
    })

    it('has 7 days from its last hold', async () => {
      const run = make()
      await run.held('model')
      world().clock.move(6 * day)
      await run.decide('model', { do: 'repeat' })
      const next = await run.lease()
      await next.begin('model')
      await next.hold('model')
      world().clock.move(6 * day)
      expect(await world().store.runs.sweep(await run.runId)).toBeNull()
    })

    it('is a duplicate for its own event, and a rerun follows its end', async () => {
      const run = make()
      await run.held('model')
      expect(await run.subject.claim('a')).toMatchObject({ reason: 'duplicate' })
      await world().store.runs.rerun(await run.runId, 'ann', null)
      expect(await run.subject.run('a')).toMatchObject({ state: 'waiting', rerunWanted: true })
      await run.decide('model', { do: 'confirm', result: '1' })
      await run.subject.complete((await run.subject.lease())!)
      expect(await run.subject.run('a')).toMatchObject({ state: 'pending', round: 2, asked: true })
    })

    it('keeps its place in a queue', async () => {
      const run = new SteppedRun(world(), { kind: 'job' })
      await run.held('model')
      await run.subject.claim('b', { lease: null })
      expect(await run.subject.lease()).toBeNull()
      await run.decide('model', { do: 'confirm', result: '1' })
      expect((await run.subject.lease())?.run.id).toBe(await run.runId)
    })

    it('after the decision waits for a worker as long as any other run', async () => {
      const run = new SteppedRun(world(), { pendingTimeoutMs: hour })
      await run.held('model')
      world().clock.move(3 * day)
      await run.decide('model', { do: 'repeat' })
      world().clock.move(hour)
      expect(await world().store.runs.sweep(await run.runId)).toMatchObject({
        errorCode: 'no_worker',
      })
    })

    it('cannot be completed by the holder that let it go', async () => {
      const run = make()
      await run.claim()
      const leased = (await run.subject.lease())!
      const holder = new StepHolder(world().store, leased)
      await holder.begin('model')
      await holder.hold('model')
      const completing = world().store.runs.complete(completion(leased), null)
      expect(await codeOf(completing)).toBe('lease_lost')
      expect(await run.subject.state('a')).toBe('waiting')
    })
  })
}
