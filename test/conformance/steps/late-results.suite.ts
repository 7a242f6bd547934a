/**
 * Goal: a result that comes after its sender lost the run counts as long as nobody began the step
 * again, because the effect has happened and must not be repeated. Its sender learns the loss.
 * After a take-over, or from somebody who never held the run, a result changes nothing.
 */
import { describe, expect, it } from 'vitest'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'
import { codeOf, StepHolder, SteppedRun } from './step-holder.ts'

export function lateResults(open: OpenStore): void {
  const world = useWorld(open)
  const make = () => new SteppedRun(world())

  /** How a holder can lose the run between the effect and its result. */
  const losses: readonly [string, string, (run: SteppedRun) => Promise<unknown>][] = [
    ['a newer head', 'superseded', (run) => run.subject.claim('b')],
    [
      'a cancellation',
      'cancelled',
      async (run) => world().store.runs.cancel(await run.runId, 'ann', null),
    ],
    ['a lost lease', 'lease_lost', (run) => run.loseHolder()],
    [
      'a new holder',
      'lease_lost',
      async (run) => {
        await run.loseHolder()
        await run.lease()
      },
    ],
  ]

  it.each(losses)('after %s it is stored, and its sender is told %s', async (_what, code, lose) => {
    const run = make()
    const holder = await run.first()
    await holder.begin('model')
    const { fence } = await run.step('model')
    await lose(run)
    const before = await run.subject.run('a')
    expect(await codeOf(holder.record('model', '5'))).toBe(code)
    expect(await run.step('model')).toMatchObject({ state: 'done', result: '5', fence })
    expect(await run.subject.run('a')).toEqual(before)
    expect(await run.audits()).toEqual(['step.late'])
    expect(await codeOf(holder.record('model', '6'))).toBe(code)
    expect((await run.step('model')).result).toBe('5')
    expect(await run.audits()).toEqual(['step.late'])
  })

  it.each(losses)('a failure after %s is stored too', async (_what, code, lose) => {
    const run = make()
    const holder = await run.first()
    await holder.begin('model')
    await lose(run)
    expect(await codeOf(holder.fail('model'))).toBe(code)
    expect(await run.step('model')).toMatchObject({ state: 'failed', errorCode: 'bad' })
  })

  it('the next holder uses it', async () => {
    const run = make()
    const { lost, next } = await run.inDoubt('model')
    expect(await next.begin('model')).toMatchObject({ reply: 'in-doubt' })
    expect(await codeOf(lost.record('model', '5'))).toBe('lease_lost')
    expect(await next.takeOver('model')).toMatchObject({ reply: 'known', step: { result: '5' } })
    expect(await run.audits()).toEqual(['step.late'])
  })

  it('after a take-over it changes nothing, and the audit says so', async () => {
    const run = make()
    const { lost, next } = await run.inDoubt('model')
    const { step } = await next.takeOver('model')
    expect(await codeOf(lost.record('model', '5'))).toBe('lease_lost')
    expect(await run.step('model')).toEqual(step)
    expect(await run.audits()).toEqual(['step.in_doubt', 'step.taken_over', 'step.late'])
    const row = (await run.subject.audits('a')).at(-1)
    expect(row?.data).toMatchObject({ step: 'model', state: 'started', counted: false })
  })

  describe('of an older lease with the start id of the newer one', () => {
    it('changes nothing after a take-over', async () => {
      const run = make()
      const lost = await run.first()
      lost.choose('model', 'same')
      await lost.begin('model')
      await run.loseHolder()
      const next = await run.lease()
      next.choose('model', 'same')
      expect(await next.begin('model')).toMatchObject({ reply: 'in-doubt' })
      const { step } = await next.takeOver('model')
      expect(await codeOf(lost.record('model', '"old"'))).toBe('lease_lost')
      expect(await run.step('model')).toEqual(step)
      expect(await next.record('model', '"new"')).toMatchObject({ reply: 'recorded' })
      expect(await codeOf(lost.fail('model'))).toBe('lease_lost')
      expect((await run.step('model')).result).toBe('"new"')
    })

    it('changes nothing if it did not begin the step', async () => {
      const run = make()
      const { lost, next } = await run.inDoubt('model')
      const { step } = await next.takeOver('model')
      lost.choose('model', next.startId('model'))
      expect(await codeOf(lost.record('model', '"old"'))).toBe('lease_lost')
      expect(await run.step('model')).toEqual(step)
    })

    it('changes nothing in a held step that another one began', async () => {
      const run = make()
      const { lost, next } = await run.inDoubt('model')
      await next.takeOver('model')
      await next.hold('model')
      const held = await run.step('model')
      const before = await run.subject.run('a')
      lost.choose('model', next.startId('model'))
      expect(await codeOf(lost.record('model', '"old"'))).toBe('lease_lost')
      expect(await run.step('model')).toEqual(held)
      expect(await run.subject.run('a')).toEqual(before)
    })

    it('closes the step of its own round only', async () => {
      const run = make()
      const first = await run.first()
      first.choose('model', 'same')
      await first.begin('model')
      await world().store.runs.cancel(first.runId, 'ann', null)
      await world().store.runs.rerun(first.runId, 'ann', null)
      const second = await run.lease()
      second.choose('model', 'same')
      const { step } = await second.begin('model')
      expect(await codeOf(first.record('model', '1'))).toBe('lease_lost')
      expect(await run.step('model')).toEqual(step)
      const [old] = await world().store.steps.list(first.runId, 1)
      expect(old).toMatchObject({ state: 'done' })
    })
  })

  describe('after many further leases', () => {
    it('still counts for the step that its sender began', async () => {
      const run = make()
      const first = await run.first()
      await first.begin('model')
      await run.loseHolder()
      await run.passOn(18)
      expect(await codeOf(first.record('other', '5'))).toBe('lease_lost')
      expect(await codeOf(first.record('model', '5'))).toBe('lease_lost')
      expect(await run.step('model')).toMatchObject({ state: 'done', result: '5' })
      expect(await run.audits()).toEqual(['step.late'])
    })

    it('does not count from a holder whose token was revoked', async () => {
      const run = make()
      await run.claim()
      const { holder, revoke } = await run.leaseWithToken()
      await holder.begin('model')
      await revoke()
      await world().store.runs.sweep(holder.runId)
      await run.passOn(18)
      expect(await codeOf(holder.record('model', '5'))).toBe('lease_lost')
      expect(await run.step('model')).toMatchObject({ state: 'started' })
      expect(await run.audits()).toEqual([])
    })
  })

  it('that changes nothing is audited once, however often it is sent', async () => {
    const run = make()
    const { lost, next } = await run.inDoubt('model')
    const { step } = await next.takeOver('model')
    const lates = async () => (await run.audits()).filter((type) => type === 'step.late').length
    for (let n = 0; n < 5; n++) await codeOf(lost.record('model', '5'))
    await codeOf(lost.fail('model'))
    expect(await lates()).toBe(1)
    lost.choose('model', 'another beginning')
    for (let n = 0; n < 5; n++) await codeOf(lost.record('model', '5'))
    expect(await lates()).toBe(2)
    expect(await run.step('model')).toEqual(step)
    // Of the present holder, and after the end of the step.
    const first = { ...next.request('model', { do: 'record', result: '1' }), startId: 'first' }
    await next.record('model', '2')
    for (let n = 0; n < 5; n++) {
      expect(await world().store.steps.act(first)).toMatchObject({ reply: 'late' })
    }
    expect(await lates()).toBe(3)
  })

  it('after a confirmation it changes nothing', async () => {
    const run = make()
    const { lost, next } = await run.inDoubt('model')
    await next.confirm('model', '7')
    expect(await codeOf(lost.record('model', '5'))).toBe('lease_lost')
    expect((await run.step('model')).result).toBe('7')
  })

  it('of the present holder for a step that it began twice is late', async () => {
    const run = make()
    const holder = await run.first()
    await holder.begin('model')
    const first = holder.request('model', { do: 'record', result: '1' })
    holder.forget('model')
    await holder.takeOver('model')
    expect(await world().store.steps.act(first)).toMatchObject({ reply: 'late' })
    expect(await holder.record('model', '2')).toMatchObject({ reply: 'recorded' })
  })

  it('finds its step in an earlier round, and leaves the present round alone', async () => {
    const run = make()
    const first = await run.first()
    await first.begin('model')
    await world().store.runs.cancel(first.runId, 'ann', null)
    await world().store.runs.rerun(first.runId, 'ann', null)
    const second = await run.lease()
    await second.begin('model')
    expect(await codeOf(first.record('model', '1'))).toBe('lease_lost')
    const [old] = await world().store.steps.list(first.runId, 1)
    expect(old).toMatchObject({ state: 'done', round: 1 })
    expect(await run.step('model')).toMatchObject({ state: 'started', round: 2 })
    expect(await second.record('model', '2')).toMatchObject({ reply: 'recorded' })
    expect((await run.step('model')).result).toBe('2')
  })

  it('together with the completion of its run is stored, whichever comes first', async () => {
    const run = make()
    await run.claim()
    const leased = (await run.subject.lease())!
    const holder = new StepHolder(world().store, leased)
    await holder.begin('model')
    const recording = codeOf(holder.record('model', '1'))
    await run.subject.complete(leased)
    expect(['no error', 'ended']).toContain(await recording)
    expect(await run.step('model')).toMatchObject({ state: 'done', result: '1' })
  })

  describe('of somebody who never held the run', () => {
    it('changes nothing, even with the right start id', async () => {
      const run = make()
      const { lost } = await run.inDoubt('model')
      const before = await run.step('model')
      const stranger = await new TestSubject(world()).claim('a')
      const foreign = new StepHolder(world().store, {
        ...stranger,
        run: await run.subject.run('a'),
      })
      const { startId } = lost.request('model', { do: 'record', result: '0' })
      const forged = foreign.request('model', { do: 'record', result: '0' })
      expect(await codeOf(world().store.steps.act({ ...forged, startId }))).toBe('lease_lost')
      expect(await run.step('model')).toEqual(before)
      expect(await run.audits()).toEqual([])
    })
  })
}
