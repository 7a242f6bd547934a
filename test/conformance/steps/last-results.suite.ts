/**
 * Goal: results of steps that come with the completion of their run are stored with it, or not at
 * all if the completion is refused.
 */
import { expect, it } from 'vitest'
import type { StepResult } from '../../../src/domain/step.ts'
import type { LeaseAnswer } from '../../../src/store.ts'
import { completion } from '../claims.ts'
import { useWorld, type OpenStore } from '../world.ts'
import { StepHolder, SteppedRun } from './step-holder.ts'

export function lastResults(open: OpenStore): void {
  const world = useWorld(open)

  async function begun(...names: readonly string[]) {
    const run = new SteppedRun(world())
    await run.claim()
    const held = (await run.subject.lease())!
    const holder = new StepHolder(world().store, held)
    for (const name of names) await holder.begin(name)
    return { run, held, holder }
  }

  const result = (holder: StepHolder, name: string): StepResult => {
    return { name, startId: holder.startId(name), codeVersion: null, result: `"${name} is done"` }
  }

  const complete = (held: LeaseAnswer, stepResults: readonly StepResult[]) =>
    world().store.runs.complete(completion(held, 'succeeded', { stepResults }), null)

  it('are stored with it', async () => {
    const { run, held, holder } = await begun('a', 'b')
    await holder.record('a', '"stored before"')
    expect((await complete(held, [result(holder, 'b')])).state).toBe('succeeded')
    expect(await run.step('b')).toMatchObject({
      ...{ state: 'done', result: '"b is done"', endedAt: world().store.now() },
    })
    expect(await run.step('a')).toMatchObject({ state: 'done', result: '"stored before"' })
    expect(await run.audits()).toEqual([])
  })

  it('a repeated completion changes nothing', async () => {
    const { run, held, holder } = await begun('a')
    await complete(held, [result(holder, 'a')])
    const step = await run.step('a')
    expect((await complete(held, [result(holder, 'a')])).state).toBe('succeeded')
    expect(await run.step('a')).toEqual(step)
  })

  it('are stored, too, if the run was completed with its run token before', async () => {
    const { run, held, holder } = await begun('a')
    await complete(held, [])
    await complete(held, [result(holder, 'a')])
    expect(await run.step('a')).toMatchObject({ state: 'done', result: '"a is done"' })
    expect(await run.audits()).toEqual(['step.late'])
  })

  it('are not stored if the completion is refused', async () => {
    const { run, held, holder } = await begun('a')
    await run.loseHolder()
    await expect(complete(held, [result(holder, 'a')])).rejects.toMatchObject({
      code: 'lease_lost',
    })
    expect(await run.step('a')).toMatchObject({ state: 'started', result: null })
  })

  it('a step that another beginning took over keeps its state', async () => {
    const { run, held, holder } = await begun('a')
    const old = result(holder, 'a')
    holder.forget('a')
    await holder.takeOver('a')
    expect((await complete(held, [old])).state).toBe('succeeded')
    expect(await run.step('a')).toMatchObject({ state: 'started', result: null })
    expect(await run.audits()).toContain('step.late')
  })

  it('of many runs that end together are each its own', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => begun('a', 'b')))
    await Promise.all(
      all.map(({ held, holder }) => complete(held, [result(holder, 'a'), result(holder, 'b')])),
    )
    for (const { run } of all) {
      const states = [(await run.step('a')).state, (await run.step('b')).state]
      expect(states).toEqual(['done', 'done'])
    }
  })
}
