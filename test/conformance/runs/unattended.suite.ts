/**
 * Goal: how runs end or continue without their worker: reclaim, no worker, lost worker, lost
 * attempts, timeout; and none of these ends may block the queue behind them.
 */
import { describe, expect, it } from 'vitest'
import type { ClaimAnswer } from '../../../src/store.ts'
import { holderOf, leaseMs, unique } from '../claims.ts'
import { TestSubject, type TestSubjectOptions } from '../test-subject.ts'
import { minute, useWorld, type OpenStore } from '../world.ts'

export function unattended(open: OpenStore): void {
  const world = useWorld(open)
  const make = (options: TestSubjectOptions = {}) => new TestSubject(world(), options)
  const move = (ms: number) => world().clock.move(ms)
  const sweep = ({ run }: Pick<ClaimAnswer, 'run'>) => world().store.runs.sweep(run!.id)

  describe('the sweeper', () => {
    it('sweeps a run when it is due and not before', async () => {
      const subject = make()
      const held = await subject.claim('a')
      const isDue = async () => (await world().store.runs.due(10_000)).includes(held.run!.id)
      move(leaseMs - 1)
      expect(await isDue()).toBe(false)
      expect(await sweep(held)).toBeNull()
      move(1)
      expect(await isDue()).toBe(true)
    })

    it('does nothing with a run that has ended or does not exist', async () => {
      const held = await make().putInState('a', 'succeeded')
      move(100 * leaseMs)
      expect(await sweep(held)).toBeNull()
      expect(await world().store.runs.sweep('run_unknown')).toBeNull()
    })

    it('gives a worker’s lost run back to the next worker, same round', async () => {
      const subject = make()
      const { run } = await subject.claim('a', { lease: null })
      const held = await subject.lease()
      move(leaseMs)
      expect(await sweep({ run })).toMatchObject({ state: 'pending', attempt: 2, round: 1 })
      const audit = (await subject.audits('a')).at(-1)
      expect(audit).toMatchObject({ type: 'run.heartbeat_lost', actor: 'sweeper' })
      const next = await subject.lease()
      expect(next?.run).toMatchObject({ attempt: 2, round: 1 })
      expect(next?.run.fence).toBeGreaterThan(held!.run.fence)
    })

    it('leaves a run that waited long to its worker until it is lost (scenario 58)', async () => {
      const subject = make({ pendingTimeoutMs: 60 * minute })
      const { run } = await subject.claim('a', { lease: null })
      move(10 * minute)
      const held = await subject.lease()
      const recovered = async () =>
        (await subject.audits('a')).filter(({ type }) => type === 'run.heartbeat_lost').length
      for (let beat = 0; beat < 61; beat++) {
        move(1000)
        await world().store.runs.heartbeat(holderOf(held!), null)
        expect(await sweep({ run })).toBeNull()
      }
      expect([await subject.state('a'), await recovered()]).toEqual(['running', 0])
      move(leaseMs)
      expect(await sweep({ run })).toMatchObject({ state: 'pending', attempt: 2 })
      expect(await sweep({ run })).toBeNull()
      expect([await subject.state('a'), await recovered()]).toEqual(['pending', 1])
    })

    it('fails a run whose third worker in the round was lost', async () => {
      const subject = make()
      const { run } = await subject.claim('a', { lease: null })
      for (const expected of ['pending', 'pending', 'failed']) {
        await subject.lease()
        move(leaseMs)
        expect((await sweep({ run }))?.state).toBe(expected)
      }
      const failed = await subject.run('a')
      expect(failed).toMatchObject({ attempt: 3, outcome: 'failed' })
      expect(failed.errorCode).toBe('attempts_exhausted')
    })

    it('does not count a released attempt as lost', async () => {
      const subject = make({ attempts: 1 })
      const { run } = await subject.claim('a', { lease: null })
      await world().store.runs.release(holderOf((await subject.lease())!), null)
      await subject.lease()
      move(leaseMs)
      expect(await sweep({ run })).toMatchObject({ errorCode: 'attempts_exhausted' })
    })

    it('keeps a caller’s run for ten further leases, then it is worker_lost', async () => {
      const subject = make()
      const held = await subject.claim('a')
      move(11 * leaseMs - 1)
      expect(await sweep(held)).toBeNull()
      expect(await subject.state('a')).toBe('running')
      expect(await world().store.runs.due(10_000)).not.toContain(held.run!.id)
      move(1)
      expect(await sweep(held)).toMatchObject({ state: 'failed', errorCode: 'worker_lost' })
    })

    it('fails a run that no worker took in time', async () => {
      const subject = make({ pendingTimeoutMs: minute })
      const pending = await subject.claim('a', { lease: null })
      move(minute - 1)
      expect(await sweep(pending)).toBeNull()
      move(1)
      expect(await sweep(pending)).toMatchObject({ state: 'failed', errorCode: 'no_worker' })
    })

    it('restarts the wait for a worker after a release', async () => {
      const subject = make({ pendingTimeoutMs: minute })
      const pending = await subject.claim('a', { lease: null })
      move(minute - 1)
      await world().store.runs.release(holderOf((await subject.lease())!), null)
      move(minute - 1)
      expect(await sweep(pending)).toBeNull()
    })

    it('fails a run that takes too long, however alive its worker is', async () => {
      const subject = make({ timeoutMs: 3 * leaseMs })
      const held = await subject.claim('a')
      for (let beat = 0; beat < 5; beat++) {
        move(leaseMs / 2)
        await world().store.runs.heartbeat(holderOf(held), null)
        expect(await sweep(held)).toBeNull()
      }
      move(leaseMs / 2)
      expect(await sweep(held)).toMatchObject({ state: 'failed', errorCode: 'timeout' })
    })

    it('writes who ended the run and why', async () => {
      const subject = make({ pendingTimeoutMs: minute })
      const pending = await subject.claim('a', { lease: null })
      move(minute)
      await sweep(pending)
      const last = (await subject.audits('a')).at(-1)
      expect(last).toMatchObject({
        type: 'run.failed',
        actor: 'sweeper',
        data: { code: 'no_worker' },
      })
    })
  })

  describe('attempts that a claim finds exhausted', () => {
    /** A running run in its last allowed attempt, whose lease has expired. */
    async function exhausted(options: TestSubjectOptions, webhookId: string) {
      const subject = make({ attempts: 2, ...options })
      await subject.claim('a', { webhookId })
      move(leaseMs)
      expect(await subject.claim('a', { webhookId })).toMatchObject({ reason: 'reclaimed' })
      return subject
    }

    it('end the round, and a webhook seen before starts no other', async () => {
      const webhookId = unique('delivery')
      const subject = await exhausted({}, webhookId)
      move(leaseMs)
      const answer = await subject.claim('a', { webhookId })
      expect(answer).toMatchObject({ reason: 'duplicate', process: false, lease: null })
      const failed = { state: 'failed', errorCode: 'attempts_exhausted', round: 1, attempt: 2 }
      expect(await subject.run('a')).toMatchObject(failed)
    })

    it('end the round, and a new event starts the next', async () => {
      const subject = await exhausted({}, unique('delivery'))
      move(leaseMs)
      const answer = await subject.claim('a')
      expect(answer).toMatchObject({ reason: 'retry', run: { round: 2, attempt: 1 } })
      const [failed, claimed] = (await subject.audits('a')).slice(-2)
      expect(failed).toMatchObject({ type: 'run.failed', data: { code: 'attempts_exhausted' } })
      expect(claimed).toMatchObject({ type: 'run.claimed', id: answer.run?.fence })
    })

    it('end the round, and a person’s request starts the next', async () => {
      const webhookId = unique('delivery')
      const subject = await exhausted({}, webhookId)
      move(leaseMs)
      const answer = await subject.claim('a', { rerun: true, headMaking: false, webhookId })
      expect(answer).toMatchObject({ reason: 'retry', run: { round: 2, attempt: 1 } })
    })

    it('do not lose the rerun that a person requested meanwhile', async () => {
      const webhookId = unique('delivery')
      const subject = await exhausted({}, webhookId)
      await subject.claim('a', { rerun: true, headMaking: false, webhookId })
      move(leaseMs)
      const answer = await subject.claim('a', { webhookId })
      move(10 * leaseMs)
      await sweep(answer)
      expect(await subject.run('a')).toMatchObject({ state: 'pending', round: 2 })
    })

    it('do not block the queue behind them when nothing is started', async () => {
      const webhookId = unique('delivery')
      const subject = await exhausted({ kind: 'job' }, webhookId)
      await subject.claim('b')
      move(leaseMs)
      const answer = await subject.claim('a', { webhookId })
      move(10 * leaseMs)
      await sweep(answer)
      expect((await subject.lease())?.run.key).toBe(subject.claimOf('b').key)
    })

    it('do not block the queue behind them when a new round is started', async () => {
      const subject = await exhausted({ kind: 'job' }, unique('delivery'))
      await subject.claim('b')
      move(leaseMs)
      const again = await subject.claim('a')
      const first = again.process ? again : await subject.lease()
      await subject.complete(first!)
      const second = await subject.lease()
      await subject.complete(second!)
      expect(await subject.state('a')).toBe('succeeded')
      expect(await subject.state('b')).toBe('succeeded')
    })
  })

  describe('the queue', () => {
    const job = (options: TestSubjectOptions = {}) => make({ kind: 'job', ...options })

    async function drain(subject: TestSubject): Promise<string[]> {
      const order: string[] = []
      for (;;) {
        const held = await subject.lease()
        if (held === null) return order
        order.push(held.run.key.split(':')[1] ?? '')
        await subject.complete(held)
      }
    }

    it('is worked off one by one, first come first served', async () => {
      const subject = job()
      const first = await subject.claim('a')
      for (const name of ['b', 'c', 'd', 'e']) {
        move(1)
        expect(await subject.claim(name)).toMatchObject({ reason: 'queued' })
      }
      expect(await subject.lease()).toBeNull()
      await subject.complete(first)
      expect(await drain(subject)).toEqual(['b', 'c', 'd', 'e'])
    })

    it('keeps its order also within one millisecond', async () => {
      const subject = job()
      const first = await subject.claim('a')
      const names = ['b', 'c', 'd', 'e', 'f', 'g', 'h']
      for (const name of names) await subject.claim(name)
      await subject.complete(first)
      expect(await drain(subject)).toEqual(names)
    })

    it('puts a rerun behind what was queued before it', async () => {
      const subject = job()
      const old = await subject.putInState('a', 'succeeded')
      move(1)
      const held = await subject.claim('b')
      move(1)
      await subject.claim('c')
      move(1)
      const again = await world().store.runs.rerun(old.run!.id, 'person', null)
      expect(again).toMatchObject({ reason: 'queued', process: false })
      await subject.complete(held)
      expect(await drain(subject)).toEqual(['c', 'a'])
    })

    it('puts a rerun that was requested meanwhile behind what was queued', async () => {
      const subject = job()
      const held = await subject.claim('a')
      move(1)
      await subject.claim('b')
      move(1)
      await subject.claim('c')
      await world().store.runs.rerun(held.run!.id, 'person', null)
      await subject.complete(held)
      expect(await drain(subject)).toEqual(['b', 'c', 'a'])
    })

    it.each(['succeeded', 'failed', 'skipped'] as const)(
      'goes on when the run before it has %s',
      async (outcome) => {
        const subject = job()
        const held = await subject.claim('a')
        await subject.claim('b')
        await subject.complete(held, outcome)
        expect((await subject.lease())?.run.key).toBe(subject.claimOf('b').key)
      },
    )

    it('goes on when the run before it is cancelled', async () => {
      const subject = job()
      const held = await subject.claim('a')
      await subject.claim('b')
      await world().store.runs.cancel(held.run!.id, 'person', null)
      expect((await subject.lease())?.run.key).toBe(subject.claimOf('b').key)
    })

    it('goes on when the run before it is swept', async () => {
      const subject = job()
      const held = await subject.claim('a')
      await subject.claim('b')
      move(11 * leaseMs)
      await sweep(held)
      expect((await subject.lease())?.run.key).toBe(subject.claimOf('b').key)
    })

    it('closes up when one in the middle is cancelled', async () => {
      const subject = job()
      const held = await subject.claim('a')
      move(1)
      const middle = await subject.claim('b')
      move(1)
      await subject.claim('c')
      await world().store.runs.cancel(middle.run!.id, 'person', null)
      expect(await subject.lease()).toBeNull()
      await subject.complete(held)
      expect(await drain(subject)).toEqual(['c'])
    })

    it('does not count the time in it against a run', async () => {
      const subject = job({ pendingTimeoutMs: minute })
      const held = await subject.claim('a')
      const queued = await subject.claim('b')
      move(10 * minute)
      expect(await sweep(queued)).toBeNull()
      await subject.complete(held)
      move(minute - 1)
      expect(await sweep(queued)).toBeNull()
      move(1)
      expect(await sweep(queued)).toMatchObject({ errorCode: 'no_worker' })
    })

    it('is not passed by a claim of a key that already queues', async () => {
      const subject = job()
      await subject.claim('a')
      await subject.claim('b')
      expect(await subject.claim('b')).toMatchObject({ reason: 'duplicate', process: false })
      expect(await subject.lease()).toBeNull()
    })
  })
}
