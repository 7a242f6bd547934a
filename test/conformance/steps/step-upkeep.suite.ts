/**
 * Goal: what happens to a run as a whole also fits its steps: a purge removes them, a clock that is
 * set back leaves a person's week, two names that become one repository lose no decision, and every
 * audit row names its cause.
 */
import { describe, expect, it } from 'vitest'
import { heldStepMs } from '../../../src/domain/step.ts'
import { purgeAll, purgeLimits } from '../../../src/runs/purge.ts'
import { rowsWithCauses } from '../audit/causes.ts'
import { completion, leaseRequest, policy, pullRequestClaim, unique } from '../claims.ts'
import { day, minute, openWorld, second, useFreshWorld, type OpenStore } from '../world.ts'
import { codeOf, StepHolder, SteppedRun } from './step-holder.ts'

export function stepUpkeep(open: OpenStore): void {
  const world = useFreshWorld(() => openWorld(open))

  it('a purge removes the steps of the runs that it removes, and no others', async () => {
    const limits = purgeLimits({ finishedDays: 30, supersededDays: 7, inboxDays: 7, auditDays: 90 })
    const [ended, active] = [new SteppedRun(world), new SteppedRun(world)]
    const { lost } = await ended.held('model')
    const other = await active.first()
    await other.begin('model')
    await world.store.runs.cancel(lost.runId, 'ann', null)
    world.clock.move(31 * day)
    expect(await purgeAll(world.store, limits, 'purge')).toBe(1)
    expect(await world.store.steps.list(lost.runId, 1)).toEqual([])
    expect(await codeOf(lost.record('model'))).toBe('run_not_found')
    expect(await world.store.steps.list(other.runId, 1)).toHaveLength(1)
  })

  describe('a clock that is set back', () => {
    async function live(seconds: number): Promise<void> {
      for (let passed = 0; passed < seconds; passed++) {
        world.clock.move(second)
        await world.store.upkeep.beat()
      }
    }

    it('leaves a person 7 days, and no more', async () => {
      await world.store.upkeep.beat()
      const run = new SteppedRun(world)
      const holder = await run.first()
      await holder.begin('model')
      await holder.hold('model')
      world.clock.move(-30 * day)
      await world.store.upkeep.beat()
      await live(2)
      const { dueAt } = await run.subject.run('a')
      expect(Math.abs(dueAt! - world.store.now() - heldStepMs)).toBeLessThan(5 * second)
      world.clock.move(heldStepMs - 5 * minute)
      expect(await world.store.runs.sweep(holder.runId)).toBeNull()
      world.clock.move(5 * minute)
      expect(await world.store.runs.sweep(holder.runId)).toMatchObject({
        errorCode: 'step_unresolved',
      })
    })
  })

  describe('two names that become one repository', () => {
    const queue = { ...policy, onNewer: 'queue' } as const

    /** One run under each name; the second has a held step. */
    async function twoNames() {
      const [before, after, type] = [unique('acme/old'), unique('acme/new'), unique('type')]
      const id = 700_000
      await world.store.repositories.learn(before, id, 'now', 'test')
      const claim = (repo: string, head: string) =>
        world.store.runs.claim(
          pullRequestClaim({ repo, pr: 5, head }, { type, policy: queue }),
          null,
        )
      const other = await claim(before, 'a')
      const held = await claim(after, 'b')
      const holder = new StepHolder(world.store, held)
      await holder.begin('model')
      await holder.hold('model')
      const learnRename = () => world.store.repositories.learn(after, id, 'now', 'test')
      return { other, runId: holder.runId, holder, type, learnRename }
    }

    it('a run that queues now keeps its held step, and a decision about it counts', async () => {
      const { other, runId, type, learnRename } = await twoNames()
      await learnRename()
      const queued = await world.store.runs.get(runId)
      expect(queued).toMatchObject({ state: 'pending', availableAt: null })
      const request = { runId, name: 'model', actor: 'ann' }
      const decided = await world.store.steps.decide(
        { ...request, decision: { do: 'confirm', result: '1' } },
        null,
      )
      expect(decided.run).toEqual(queued)
      expect(decided.step).toMatchObject({ state: 'done' })
      await world.store.runs.complete(completion(other), null)
      const leased = await world.store.runs.lease(leaseRequest({ types: [type] }), null)
      expect(leased?.run.id).toBe(runId)
      expect(leased?.steps).toMatchObject([{ name: 'model', state: 'done' }])
    })

    it('a held step that nobody decided about is in doubt for the next holder', async () => {
      const { other, runId, holder, type, learnRename } = await twoNames()
      await learnRename()
      await world.store.runs.complete(completion(other), null)
      const leased = await world.store.runs.lease(leaseRequest({ types: [type] }), null)
      const next = new StepHolder(world.store, leased!)
      expect(await next.begin('model')).toMatchObject({ reply: 'in-doubt' })
      expect(await next.hold('model')).toMatchObject({ reply: 'held' })
      expect(await world.store.runs.get(runId)).toMatchObject({ state: 'waiting' })
      expect(await codeOf(holder.record('model'))).toBe('lease_lost')
      expect(await world.store.runs.get(runId)).toMatchObject({ state: 'pending' })
    })

    it('the late result of a step whose run queues now closes the step alone', async () => {
      const { runId, holder, learnRename } = await twoNames()
      await learnRename()
      const queued = await world.store.runs.get(runId)
      expect(await codeOf(holder.record('model', '5'))).toBe('lease_lost')
      expect(await world.store.steps.get(runId, 'model')).toMatchObject({ result: '5' })
      expect(await world.store.runs.get(runId)).toEqual(queued)
    })
  })

  it('every audit row about a step names its cause', async () => {
    const run = new SteppedRun(world)
    const { lost } = await run.held('model')
    await codeOf(lost.record('model'))
    const next = await run.lease()
    await next.begin('second')
    await run.loseHolder()
    const third = await run.lease()
    await third.takeOver('second')
    await codeOf(next.record('second'))
    await third.begin('third')
    await third.hold('third')
    await run.decide('third', { do: 'repeat' })
    const leased = await run.subject.lease()
    const stepsNotAskedFor = { steps: [{ name: 'model', codeVersion: null }], codeVersion: 'v2' }
    const end = completion(leased!, 'succeeded', { stepsNotAskedFor })
    await world.store.runs.complete(end, null)
    const all = await rowsWithCauses(world.store)
    const types = new Map(all.map(({ id, type }) => [id, type]))
    const lines = all.map(
      ({ type, causeId }) => `${types.get(causeId ?? 0) ?? 'nothing'} → ${type}`,
    )
    expect(lines).toEqual([
      'nothing → run.claimed',
      'run.claimed → run.leased',
      'run.leased → run.heartbeat_lost',
      'run.heartbeat_lost → run.leased',
      'run.leased → step.in_doubt',
      'step.in_doubt → step.held',
      'step.held → step.late',
      'step.late → run.leased',
      'run.leased → run.heartbeat_lost',
      'run.heartbeat_lost → run.leased',
      'run.leased → step.in_doubt',
      'step.in_doubt → step.taken_over',
      'run.leased → step.late',
      'run.leased → step.in_doubt',
      'step.in_doubt → step.held',
      'step.held → operator.step_repeated',
      'operator.step_repeated → run.leased',
      'run.leased → step.not_asked_for',
      'run.leased → run.succeeded',
    ])
  })
}
