/**
 * Goal: a lease carries the steps of its round. Runs that a person asked for are leased first, by
 * workers and by executors. Executors lease several runs at once.
 */
import { describe, expect, it } from 'vitest'
import type { LeaseAnswer } from '../../../src/store.ts'
import { grant, leaseMs, leaseRequest, unique } from '../claims.ts'
import { announced, contentOf, ManualPublisher } from '../outbox/manual-publisher.ts'
import { onceOf } from '../runs/idempotency.suite.ts'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'
import { StepHolder, SteppedRun } from './step-holder.ts'

export function stepLeases(open: OpenStore): void {
  const world = useWorld(open)
  const make = () => new SteppedRun(world())

  describe('the answer to a lease', () => {
    it('answers the steps of the round, with their results', async () => {
      const run = make()
      const lost = await run.first()
      await lost.begin('b')
      await lost.begin('a')
      await lost.record('a', '"x"')
      await run.loseHolder()
      const leased = await run.subject.lease()
      expect(leased?.steps.map(({ name, state, result }) => [name, state, result])).toEqual([
        ['a', 'done', '"x"'],
        ['b', 'started', null],
      ])
    })

    it('answers none of an earlier round', async () => {
      const run = make()
      const first = await run.first()
      await first.begin('a')
      await first.record('a')
      await world().store.runs.cancel(first.runId, 'ann', null)
      await world().store.runs.rerun(first.runId, 'ann', null)
      expect((await run.subject.lease())?.steps).toEqual([])
      await run.loseHolder()
      expect((await run.subject.lease())?.steps).toEqual([])
    })

    it('that is repeated under its Idempotency-Key answers them again', async () => {
      const run = make()
      const lost = await run.first()
      await lost.begin('a')
      await run.loseHolder()
      const key = onceOf(unique('key'))
      const request = leaseRequest({ types: [run.subject.type] })
      const first = await world().store.runs.lease(request, key)
      expect(first?.steps).toHaveLength(1)
      expect(await world().store.runs.lease(request, key)).toEqual(first)
    })

    it('has at most results of 4 MB, and the others are answered when they are begun', async () => {
      const run = make()
      const lost = await run.first()
      const names = Array.from({ length: 20 }, (_, n) => `step ${String(n).padStart(2, '0')}`)
      const result = JSON.stringify('x'.repeat(250 * 1024))
      await Promise.all(names.map((name) => lost.begin(name)))
      await Promise.all(names.map((name) => lost.record(name, result)))
      await run.loseHolder()
      const leased = (await run.subject.lease())!
      expect(leased.steps.map(({ name }) => name)).toEqual(names.slice(0, 16))
      const next = new StepHolder(world().store, leased)
      expect(await next.begin(names[19]!)).toMatchObject({ reply: 'known', step: { result } })
    })
  })

  /** Pending runs of one type, each on its own subject; the first has waited longest. */
  async function waiting(type: string, count: number): Promise<readonly string[]> {
    const ids: string[] = []
    for (let n = 0; n < count; n++) {
      const { run } = await new TestSubject(world()).claim('a', { type, lease: null })
      ids.push(run!.id)
      world().clock.move(1)
    }
    return ids
  }

  /** A pending run in a round that a person asked for. */
  async function asked(type: string): Promise<string> {
    const { run } = await new TestSubject(world()).claim('a', { type, lease: null })
    await world().store.runs.cancel(run!.id, 'ann', null)
    await world().store.runs.rerun(run!.id, 'ann', null)
    return run!.id
  }

  const manyOf = (type: string, count: number, askedOnly = false) => ({
    grants: Array.from({ length: count }, () => grant({ holder: 'executor', worker: 'node 1' })),
    ...{ leaseMs, type, askedOnly, actor: 'executor' },
  })
  const idsOf = (answers: readonly LeaseAnswer[]) => answers.map(({ run }) => run.id)

  describe('a lease that names no types', () => {
    it('leaves out some types, however long their runs have waited', async () => {
      const [executed, remote] = [unique('executed'), unique('remote')]
      await waiting(executed, 2)
      const [wanted] = await waiting(remote, 1)
      const { runs } = world().store
      const others = await runs.availableTypes([], [executed], null)
      expect(others).toContain(remote)
      expect(others).not.toContain(executed)
      const exceptTypes = [executed, ...others.filter((type) => type !== remote)]
      const lease = () => runs.lease(leaseRequest({ types: null, exceptTypes }), null)
      expect((await lease())?.run.id).toBe(wanted)
      expect(await lease()).toBeNull()
      const named = leaseRequest({ types: [executed], exceptTypes })
      expect((await runs.lease(named, null))?.run.type).toBe(executed)
    })
  })

  describe('a run that a person asked for', () => {
    it('is leased with the last of many grants, and no other run is', async () => {
      const type = unique('type')
      const [oldest, second] = await waiting(type, 2)
      const wanted = { ...manyOf(type, 2), lastIfAsked: true }
      expect(idsOf(await world().store.runs.leaseMany(wanted))).toEqual([oldest])
      expect(idsOf(await world().store.runs.leaseMany(manyOf(type, 1)))).toEqual([second])
      const [first, other] = [await asked(type), await asked(type)]
      await waiting(type, 1)
      const leased = await world().store.runs.leaseMany(wanted)
      expect(idsOf(leased).toSorted()).toEqual([first, other].toSorted())
    })

    it('is leased before runs that have waited longer', async () => {
      const type = unique('type')
      const [oldest] = await waiting(type, 2)
      const wanted = await asked(type)
      const lease = () => world().store.runs.lease(leaseRequest({ types: [type] }), null)
      expect((await lease())?.run.id).toBe(wanted)
      expect((await lease())?.run.id).toBe(oldest)
    })

    it('of one type is leased before older runs of another', async () => {
      const [one, other] = [unique('type'), unique('type')]
      await waiting(one, 1)
      const wanted = await asked(other)
      const types = [one, other]
      expect(await world().store.runs.availableTypes(types, null, null)).toEqual([other, one])
      const leased = await world().store.runs.lease(leaseRequest({ types }), null)
      expect(leased?.run.id).toBe(wanted)
    })

    it('stays so when its holder is lost, and a later round by an event is not', async () => {
      const run = make()
      await run.claim()
      await world().store.runs.cancel(await run.runId, 'ann', null)
      await world().store.runs.rerun(await run.runId, 'ann', null)
      await run.lease()
      await run.loseHolder()
      expect(await run.subject.run('a')).toMatchObject({ asked: true, state: 'pending' })
      await world().store.runs.cancel(await run.runId, 'ann', null)
      await run.subject.claim('a', { lease: null })
      expect(await run.subject.run('a')).toMatchObject({ asked: false, round: 3 })
    })

    it('while it was active is first in the round that follows', async () => {
      const subject = new TestSubject(world())
      const held = await subject.claim('a')
      await world().store.runs.rerun(held.run!.id, 'ann', null)
      await subject.complete(held)
      expect(await subject.run('a')).toMatchObject({ asked: true, round: 2, state: 'pending' })
    })
  })

  describe('a lease of many', () => {
    it('takes as many as there are grants, asked ones first, then the oldest', async () => {
      const type = unique('type')
      const ids = await waiting(type, 3)
      const wanted = await asked(type)
      const request = manyOf(type, 3)
      const leased = await world().store.runs.leaseMany(request)
      expect(idsOf(leased)).toEqual([wanted, ids[0], ids[1]])
      expect(leased.map(({ lease }) => lease.secret)).toEqual(
        request.grants.map(({ secret }) => secret),
      )
      const { run } = leased[1]!
      expect(run).toMatchObject({ state: 'running', holder: 'executor', worker: 'node 1' })
      expect(await world().store.runs.get(run.id)).toEqual(run)
      expect(idsOf(await world().store.runs.leaseMany(manyOf(type, 3)))).toEqual([ids[2]])
      expect(await world().store.runs.leaseMany(manyOf(type, 3))).toEqual([])
      expect(await world().store.runs.leaseMany(manyOf(type, 0))).toEqual([])
    })

    it('of asked runs leaves the others', async () => {
      const type = unique('type')
      await waiting(type, 1)
      const wanted = await asked(type)
      expect(idsOf(await world().store.runs.leaseMany(manyOf(type, 5, true)))).toEqual([wanted])
    })

    it('draws a fence for each, which its audit row has', async () => {
      const type = unique('type')
      await waiting(type, 4)
      const leased = await world().store.runs.leaseMany(manyOf(type, 4))
      const rows = await world().store.audit.get(leased.map(({ run }) => run.fence))
      const byId = new Map(rows.map((row) => [row.id, row]))
      for (const { run } of leased) {
        expect(byId.get(run.fence)).toMatchObject({
          ...{ type: 'run.leased', runId: run.id, causeId: run.claimFence, actor: 'executor' },
          data: { worker: 'node 1', round: 1, attempt: 1 },
        })
      }
    })

    it('takes one run of a queue', async () => {
      const queue = new TestSubject(world(), { kind: 'job' })
      for (const name of ['a', 'b', 'c']) await queue.claim(name, { lease: null })
      const leased = await world().store.runs.leaseMany(manyOf(queue.type, 5))
      expect(leased.map(({ run }) => run.pair)).toEqual([queue.claimOf('a').pair])
    })

    it('answers the steps of each', async () => {
      const run = make()
      const lost = await run.first()
      await lost.begin('model')
      await run.loseHolder()
      const [leased] = await world().store.runs.leaseMany(manyOf(run.subject.type, 2))
      expect(leased?.steps.map(({ name }) => name)).toEqual(['model'])
      const next = new StepHolder(world().store, leased!)
      expect(await next.begin('model')).toMatchObject({ reply: 'in-doubt' })
    })

    it('announces each run', async () => {
      const subject = new TestSubject(world(), { announcement: announced })
      const { run } = await subject.claim('a', { lease: null })
      await world().store.runs.leaseMany(manyOf(subject.type, 2))
      const anchor = await new ManualPublisher(world()).named(run!.id, 'anchor')
      expect(contentOf(anchor).view.state).toBe('running')
    })

    it('with a revoked token leases nothing', async () => {
      const type = unique('type')
      await waiting(type, 1)
      const { grants, ...request } = manyOf(type, 1)
      const revoked = grants.map((one) => ({ ...one, token: { id: 'tok_none', until: null } }))
      const leasing = world().store.runs.leaseMany({ ...request, grants: revoked })
      await expect(leasing).rejects.toMatchObject({ code: 'unauthorized' })
      expect(await world().store.runs.leaseMany(manyOf(type, 1))).toHaveLength(1)
    })
  })
}
