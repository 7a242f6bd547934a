/**
 * Goal: only the holder of a run changes its steps, and whoever lost the run learns how. The end of
 * a lease alone takes nothing away.
 */
import { expect, it } from 'vitest'
import { holderOf, leaseMs } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'
import { codeOf, StepHolder, SteppedRun } from './step-holder.ts'

export function stepHolders(open: OpenStore): void {
  const world = useWorld(open)
  const make = () => new SteppedRun(world())

  const acts = [
    ['begins', (holder: StepHolder) => holder.begin('other')],
    ['takes over', (holder: StepHolder) => holder.takeOver('model')],
    ['confirms', (holder: StepHolder) => holder.confirm('model')],
    ['holds', (holder: StepHolder) => holder.hold('model')],
  ] as const

  async function expectRefused(
    run: SteppedRun,
    act: () => Promise<unknown>,
    code: string,
  ): Promise<void> {
    const runId = await run.runId
    const before = await world().store.steps.list(runId, 1)
    expect(await codeOf(act())).toBe(code)
    expect(await world().store.steps.list(runId, 1)).toEqual(before)
  }

  it.each(acts)('%s a step: a run that was superseded', async (_what, act) => {
    const run = make()
    const holder = await run.first()
    await holder.begin('model')
    await run.subject.claim('b')
    await expectRefused(run, () => act(holder), 'superseded')
  })

  it.each(acts)('%s a step: a run that was cancelled', async (_what, act) => {
    const run = make()
    const holder = await run.first()
    await holder.begin('model')
    await world().store.runs.cancel(holder.runId, 'ann', null)
    await expectRefused(run, () => act(holder), 'cancelled')
  })

  it.each(acts)('%s a step: a run that another holder has', async (_what, act) => {
    const run = make()
    const { lost } = await run.inDoubt('model')
    await expectRefused(run, () => act(lost), 'lease_lost')
  })

  it.each(acts)('%s a step: a run that its holder completed', async (_what, act) => {
    const run = make()
    await run.claim()
    const leased = await run.subject.lease()
    const holder = new StepHolder(world().store, leased!)
    await holder.begin('model')
    await run.subject.complete(leased!)
    await expectRefused(run, () => act(holder), 'ended')
  })

  it.each(acts)('%s a step: a run whose token was revoked', async (_what, act) => {
    const run = make()
    await run.claim()
    const { holder, revoke } = await run.leaseWithToken()
    await holder.begin('model')
    await revoke()
    await expectRefused(run, () => act(holder), 'lease_lost')
  })

  it.each(acts)('%s a step: not somebody else', async (_what, act) => {
    const run = make()
    const holder = await run.first()
    await holder.begin('model')
    const stranger = { ...(await new TestSubject(world()).claim('a')) }
    const foreign = new StepHolder(world().store, {
      ...stranger,
      run: await run.subject.run('a'),
    })
    await expectRefused(run, () => act(foreign), 'lease_lost')
  })

  it('an unknown run is not found', async () => {
    const { run, ...claim } = await new TestSubject(world()).claim('a')
    const nowhere = new StepHolder(world().store, { ...claim, run: { ...run!, id: 'run_none' } })
    expect(await codeOf(nowhere.begin('model'))).toBe('run_not_found')
    expect(await codeOf(nowhere.hold('model'))).toBe('run_not_found')
  })

  it('expiry alone takes nothing away: the holder may still begin a step', async () => {
    const holder = await make().first()
    world().clock.move(3 * leaseMs)
    expect(await holder.begin('model')).toMatchObject({ reply: 'began' })
  })

  it('a caller that claimed the run has steps too, and a reclaim finds them in doubt', async () => {
    const subject = new TestSubject(world())
    const claimed = await subject.claim('a')
    const holder = new StepHolder(world().store, claimed)
    await holder.begin('model')
    world().clock.move(leaseMs)
    const reclaimed = await subject.claim('a')
    expect(reclaimed.reason).toBe('reclaimed')
    const next = new StepHolder(world().store, reclaimed)
    expect(await next.begin('model')).toMatchObject({ reply: 'in-doubt' })
    await world().store.runs.release(holderOf(reclaimed), null)
    expect((await subject.lease())?.steps).toHaveLength(1)
  })
}
