/**
 * Goal: a step is done once per recorded result. Whoever holds the run begins it and stores its
 * result; a later holder of the round gets that result, or learns that the step is in doubt.
 */
import { describe, expect, it } from 'vitest'
import { completion } from '../claims.ts'
import { useWorld, type OpenStore } from '../world.ts'
import { StepHolder, SteppedRun } from './step-holder.ts'

export function steps(open: OpenStore): void {
  const world = useWorld(open)
  const make = () => new SteppedRun(world())

  describe('beginning', () => {
    it('stores the step before it is done', async () => {
      const run = make()
      const holder = await run.first()
      const answer = await holder.begin('model', 'confirm')
      const { fence, round } = await run.subject.run('a')
      expect(answer).toMatchObject({
        reply: 'began',
        step: {
          ...{ name: 'model', state: 'started', policy: 'confirm', attempt: 1, round, fence },
          ...{ startId: holder.startId('model'), startedAt: world().store.now(), rev: 1 },
        },
      })
      expect(await run.step('model')).toEqual(answer.step)
      expect(await run.audits()).toEqual([])
    })

    it('again with the same start id is the same beginning', async () => {
      const run = make()
      const holder = await run.first()
      const first = await holder.begin('model')
      expect(await holder.begin('model')).toEqual({ reply: 'already', step: first.step })
      expect(await holder.takeOver('model')).toEqual({ reply: 'already', step: first.step })
    })

    it('a second time in one attempt is in doubt', async () => {
      const holder = await make().first()
      await holder.begin('model')
      holder.forget('model')
      expect(await holder.begin('model')).toMatchObject({ reply: 'in-doubt' })
    })

    it('a step that is done answers its result', async () => {
      const holder = await make().first()
      await holder.begin('model')
      await holder.record('model', '{"n":1}')
      holder.forget('model')
      expect(await holder.begin('model')).toMatchObject({
        reply: 'known',
        step: { state: 'done', result: '{"n":1}' },
      })
    })

    it('a step that failed answers its error', async () => {
      const holder = await make().first()
      await holder.begin('model')
      await holder.fail('model')
      expect(await holder.begin('model')).toMatchObject({
        reply: 'known',
        step: { state: 'failed', errorCode: 'bad', errorText: 'it broke' },
      })
    })

    it('an error text with half a character is stored without it', async () => {
      const run = make()
      await run.claim()
      const holder = new StepHolder(world().store, (await run.subject.lease())!)
      await holder.begin('a')
      await holder.act('a', { do: 'fail', errorCode: 'bad', errorText: 'no \ud83d' })
      expect((await run.step('a')).errorText).toBe('no \ufffd')
    })

    it('steps of two runs with one name are two steps', async () => {
      const [one, other] = [await make().first(), await make().first()]
      expect(await one.begin('model')).toMatchObject({ reply: 'began' })
      expect(await other.begin('model')).toMatchObject({ reply: 'began' })
    })
  })

  describe('a result', () => {
    it('is stored once, and a second one answers the first', async () => {
      const holder = await make().first()
      await holder.begin('model')
      const first = await holder.record('model', '1')
      expect(first).toMatchObject({ reply: 'recorded', step: { state: 'done', result: '1' } })
      expect(await holder.record('model', '2')).toEqual({ reply: 'already', step: first.step })
      expect(await holder.fail('model')).toEqual({ reply: 'already', step: first.step })
    })

    it('of a step that nobody began is refused', async () => {
      const holder = await make().first()
      expect(await holder.record('model')).toEqual({ reply: 'not-begun', step: null })
      expect(await holder.confirm('model')).toEqual({ reply: 'not-begun', step: null })
      expect(await holder.hold('model')).toEqual({ reply: 'not-begun', step: null })
    })

    it('may be as long as 256 KB and contain anything', async () => {
      const run = make()
      const holder = await run.first()
      const result = JSON.stringify({ text: 'ö?\u0001"\\'.repeat(20_000) })
      await holder.begin('model')
      await holder.record('model', result)
      expect((await run.step('model')).result).toBe(result)
    })
  })

  describe('a step that an earlier holder began and did not end', () => {
    it('is in doubt, and says how it was begun', async () => {
      const run = make()
      const { lost, next } = await run.inDoubt('model')
      expect(await next.begin('model')).toMatchObject({
        reply: 'in-doubt',
        step: { state: 'started', startId: lost.startId('model'), attempt: 1 },
      })
      expect(await run.audits()).toEqual([])
    })

    it('can be taken over: begun again by its new holder', async () => {
      const run = make()
      const { next } = await run.inDoubt('model')
      expect(await next.takeOver('model')).toMatchObject({
        reply: 'began',
        step: { state: 'started', startId: next.startId('model'), attempt: 2, rev: 2 },
      })
      expect(await run.audits()).toEqual(['step.in_doubt', 'step.taken_over'])
      expect(await next.takeOver('model')).toMatchObject({ reply: 'already' })
      expect(await next.record('model')).toMatchObject({ reply: 'recorded' })
    })

    it('can be confirmed: it had been done, and is not repeated', async () => {
      const run = make()
      const { next } = await run.inDoubt('model')
      expect(await next.confirm('model', '7')).toMatchObject({
        reply: 'recorded',
        step: { state: 'done', result: '7', startId: next.startId('model') },
      })
      expect(await run.audits()).toEqual(['step.in_doubt', 'step.confirmed'])
      expect(await next.confirm('model', '8')).toMatchObject({
        reply: 'known',
        step: { result: '7' },
      })
    })
  })

  it('lists the steps of a round in the order of their start, without results', async () => {
    const run = make()
    const holder = await run.first()
    for (const name of ['z', 'm', 'a']) {
      await holder.begin(name)
      await holder.record(name)
      world().clock.move(1)
    }
    const list = await world().store.steps.list(holder.runId, null)
    expect(list.map(({ name, result }) => [name, result])).toEqual([
      ['z', null],
      ['m', null],
      ['a', null],
    ])
    expect(await world().store.steps.list(holder.runId, 2)).toEqual([])
    expect(await world().store.steps.list('run_none', null)).toEqual([])
    expect(await world().store.steps.get(holder.runId, 'none')).toBeNull()
  })

  it('a completion names the stored steps that its attempt did not ask for', async () => {
    const run = make()
    await run.claim()
    const leased = (await run.subject.lease())!
    const holder = new StepHolder(world().store, leased, 'v1')
    await holder.begin('old')
    await holder.record('old')
    const stepsNotAskedFor = { steps: [{ name: 'old', codeVersion: 'v1' }], codeVersion: 'v2' }
    const request = completion(leased, 'succeeded', { stepsNotAskedFor })
    await world().store.runs.complete(request, null)
    await world().store.runs.complete(request, null)
    const rows = await run.subject.audits('a')
    const named = rows.filter(({ type }) => type === 'step.not_asked_for')
    expect(named.map(({ data }) => data)).toEqual([
      {
        ...{ steps: ['old'], count: 1, recorded_with: ['v1'], code_version: 'v2' },
        ...{ round: 1, attempt: 1 },
      },
    ])
  })

  it('a completion that asked for every step says nothing', async () => {
    const run = make()
    await run.claim()
    const leased = (await run.subject.lease())!
    const stepsNotAskedFor = { steps: [], codeVersion: 'v2' }
    await world().store.runs.complete(completion(leased, 'succeeded', { stepsNotAskedFor }), null)
    expect(await run.audits()).toEqual([])
  })
}
