/**
 * Goal: a claim that brings an executor leaves the store as a claim and a lease right after it
 * would, but for the number of writes. A claim that leaves no run for a lease gives it nothing.
 */
import { describe, expect, it } from 'vitest'
import type { Run } from '../../../src/domain/run.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion, grant, holderOf, leaseRequest } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'

const executorGrant = () => grant({ holder: 'executor', worker: 'node/1' })

export function takenAtOnce(open: OpenStore): void {
  const world = useWorld(open)
  const make = (options = {}) => new TestSubject(world(), options)
  const announced = {
    announcement: { anchorPer: 'subject', statusContext: 'ci', checkName: null, locale: 'en' },
  } as const

  function take(subject: TestSubject, name: string, over = {}): Promise<ClaimAnswer> {
    return subject.claim(name, { lease: null, executor: executorGrant(), ...over })
  }

  /** What differs between two stores in any case: ids, secrets and what follows from them. */
  const comparable = ({
    id,
    rev,
    fence,
    claimFence,
    leaseHash,
    subjectId,
    scope,
    ...rest
  }: Run) => ({
    ...rest,
    hasFence: fence > claimFence && id !== '' && rev > 0 && subjectId !== '' && scope !== '',
    isHeld: leaseHash !== null,
    ...{ type: '', key: '', repo: '', webhookId: '' },
  })

  it('is as a claim and a lease right after it', async () => {
    const [once, twice] = [make(announced), make(announced)]
    const answer = await take(once, 'a')
    await twice.claim('a', { lease: null })
    const request = leaseRequest({ grant: executorGrant(), types: [twice.type] })
    await world().store.runs.lease({ ...request, actor: 'executor:node/1' }, null)
    expect(comparable(await once.run('a'))).toEqual(comparable(await twice.run('a')))
    const audits = async (subject: TestSubject) =>
      (await subject.audits('a')).map(({ type, actor, data: { key: _key, ...data } }) => {
        return { type, actor, data }
      })
    expect(await audits(once)).toEqual(await audits(twice))
    const shown = async (subject: TestSubject) => {
      const filter = { runId: (await subject.run('a')).id }
      const { items } = await world().store.outbox.list(filter, { limit: 10, cursor: null })
      const rows = items.map(({ channel, status, wait, final, announces }) => {
        return { channel, status, wait, final, announces }
      })
      return rows.toSorted((a, b) => (a.channel < b.channel ? -1 : 1))
    }
    expect((await shown(once)).length).toBe(2)
    expect(await shown(once)).toEqual(await shown(twice))
    expect(answer).toMatchObject({ reason: 'new', process: true, lease: null })
  })

  it('answers the run as the claim left it, and as the executor has it', async () => {
    const subject = make()
    const { run, taken } = await take(subject, 'a')
    expect(run).toMatchObject({ state: 'pending', leaseHash: null, worker: null })
    expect(taken?.run).toEqual(await subject.run('a'))
    expect(taken?.run).toMatchObject({ state: 'running', holder: 'executor', worker: 'node/1' })
    expect(taken?.run.claimFence).toBe(run?.fence)
    expect(taken?.steps).toEqual([])
    const [claimed, leased] = await subject.audits('a')
    expect([claimed?.id, leased?.id]).toEqual([run?.fence, taken?.run.fence])
    expect(leased?.causeId).toBe(claimed?.id)
  })

  it('leaves the executor to a run of its type that has waited longer', async () => {
    const type = 'shared'
    await make().claim('a', { type, lease: null })
    const { run, taken } = await take(make(), 'b', { type })
    expect([run?.state, taken]).toEqual(['pending', null])
    expect((await take(make(), 'c', { type: 'another' })).taken).not.toBeNull()
  })

  it('makes a holder like every other one', async () => {
    const subject = make()
    const { taken } = await take(subject, 'a')
    const { expiresAt } = await world().store.runs.heartbeat(holderOf(taken!), null)
    expect(expiresAt).toBeGreaterThan(world().store.now())
    expect((await world().store.runs.complete(completion(taken!), null)).state).toBe('succeeded')
    expect(await subject.lease()).toBeNull()
  })

  it('supersedes, and is superseded', async () => {
    const subject = make()
    const old = await take(subject, 'a', { eventAt: 1000 })
    const next = await take(subject, 'b', { eventAt: 2000 })
    expect(next).toMatchObject({ reason: 'superseded-prior', supersededRunIds: [old.run?.id] })
    const write = world().store.runs.heartbeat(holderOf(old.taken!), null)
    await expect(write).rejects.toMatchObject({ code: 'superseded' })
    expect(await subject.state('b')).toBe('running')
  })

  it('a rerun begins the next round', async () => {
    const subject = make()
    await subject.putInState('a', 'succeeded')
    const { reason, taken } = await take(subject, 'a', { rerun: true })
    expect([reason, taken?.run.round, taken?.run.attempt]).toEqual(['rerun', 2, 1])
  })

  describe('nothing is taken', () => {
    async function leavesNothing(answer: ClaimAnswer, state: Run['state']): Promise<void> {
      expect(answer.taken).toBeNull()
      expect(answer.run?.state).toBe(state)
    }

    it('of a duplicate', async () => {
      const subject = make()
      await subject.claim('a', { lease: null })
      await leavesNothing(await take(subject, 'a'), 'pending')
    })

    it('of a run that has to queue', async () => {
      const subject = make({ kind: 'job' })
      await subject.claim('a')
      await leavesNothing(await take(subject, 'b'), 'pending')
      expect(await subject.lease()).toBeNull()
    })

    it('of a run that is skipped', async () => {
      const subject = make({ kind: 'job', onNewer: 'skip' })
      await subject.claim('a')
      await leavesNothing(await take(subject, 'b'), 'skipped')
    })

    it('of a reclaimed run, whose round may have steps', async () => {
      const subject = make()
      await subject.putInState('a', 'expired')
      const answer = await take(subject, 'a')
      expect(answer.reason).toBe('reclaimed')
      await leavesNothing(answer, 'pending')
      expect((await subject.lease())?.run.attempt).toBe(2)
    })

    it('of a stale event', async () => {
      const subject = make()
      await subject.claim('b', { eventAt: 2000 })
      await leavesNothing(await take(subject, 'a', { eventAt: 1000 }), 'skipped')
    })
  })
}
