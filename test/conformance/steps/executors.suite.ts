/**
 * Goal: the new owner of a SQLite file gives the runs of its dead predecessor's executors back at
 * once, as if their leases were lost, and touches no other run.
 */
import { expect, it } from 'vitest'
import { grant, holderOf, leaseMs, leaseRequest } from '../claims.ts'
import { TestSubject, type TestSubjectOptions } from '../test-subject.ts'
import { openWorld, useFreshWorld, type OpenStore } from '../world.ts'
import { codeOf, StepHolder } from './step-holder.ts'

export function executors(open: OpenStore): void {
  const world = useFreshWorld(() => openWorld(open))

  /** A run that an executor holds. */
  async function executed(options: TestSubjectOptions = {}) {
    const subject = new TestSubject(world, options)
    await subject.claim('a', { lease: null })
    return { subject, held: await leaseAgain(subject) }
  }

  async function leaseAgain({ type }: TestSubject) {
    const request = { leaseMs, type, askedOnly: false, actor: 'executor' }
    const grants = [grant({ holder: 'executor', worker: 'node 1' })]
    const [held] = await world.store.runs.leaseMany({ ...request, grants })
    return held!
  }

  it('gives a run back with the next attempt, and its audit says why', async () => {
    const { subject, held } = await executed()
    await new StepHolder(world.store, held).begin('model')
    const taken = await world.store.runs.takeOverExecutors()
    expect(taken).toMatchObject([{ id: held.run.id, state: 'pending', attempt: 2, holder: null }])
    expect(await subject.run('a')).toEqual(taken[0])
    expect((await subject.audits('a')).at(-1)).toMatchObject({
      ...{ type: 'run.heartbeat_lost', id: taken[0]?.fence, causeId: held.run.fence },
      data: { worker: 'node 1', attempt: 1, why: 'the process that worked on it ended' },
    })
    expect(await codeOf(world.store.runs.heartbeat(holderOf(held), null))).toBe('lease_lost')
    expect((await subject.lease())?.steps).toMatchObject([{ name: 'model', state: 'started' }])
  })

  it('fails a run that has no attempt left', async () => {
    await executed({ attempts: 1 })
    expect(await world.store.runs.takeOverExecutors()).toMatchObject([
      { state: 'failed', errorCode: 'attempts_exhausted' },
    ])
  })

  it('leaves the runs of workers and callers, and runs that nobody holds', async () => {
    const [called, worked] = [new TestSubject(world), new TestSubject(world)]
    await called.claim('a')
    await worked.claim('a', { lease: null })
    await worked.lease()
    const { held } = await executed()
    await world.store.runs.release(holderOf(held), null)
    const { subject } = await executed()
    await world.store.runs.cancel((await subject.run('a')).id, 'ann', null)
    expect(await world.store.runs.takeOverExecutors()).toEqual([])
  })

  it('leaves a run whose step is held', async () => {
    const { subject, held } = await executed()
    const holder = new StepHolder(world.store, held)
    await holder.begin('model')
    await holder.hold('model')
    expect(await world.store.runs.takeOverExecutors()).toEqual([])
    expect(await subject.state('a')).toBe('waiting')
  })

  it('takes back at once what its executor gives up, which counts as an attempt', async () => {
    const { subject, held } = await executed({ attempts: 2 })
    await new StepHolder(world.store, held).begin('model')
    const given = await world.store.runs.giveUp(holderOf(held))
    expect(given).toMatchObject({ state: 'pending', attempt: 2, holder: null })
    expect((await subject.audits('a')).at(-1)).toMatchObject({
      ...{ type: 'run.heartbeat_lost', id: given.fence, causeId: held.run.fence },
      ...{ actor: 'holder', data: { attempt: 1, why: 'the work was cut off' } },
    })
    expect(await codeOf(world.store.runs.giveUp(holderOf(held)))).toBe('lease_lost')
    const again = await leaseAgain(subject)
    expect(again.steps).toMatchObject([{ name: 'model', state: 'started' }])
    expect(await codeOf(world.store.runs.giveUp(holderOf(held)))).toBe('lease_lost')
    const failed = { state: 'failed', errorCode: 'attempts_exhausted' }
    expect(await world.store.runs.giveUp(holderOf(again))).toMatchObject(failed)
  })

  it('fails what its executor gives up after its time', async () => {
    const { held } = await executed()
    const tooLong = { state: 'failed', errorCode: 'timeout', attempt: 1 }
    world.clock.move(held.run.timeoutMs)
    expect(await world.store.runs.giveUp(holderOf(held))).toMatchObject(tooLong)
  })

  it('takes nothing back from a run whose step is held', async () => {
    const { subject, held } = await executed()
    const holder = new StepHolder(world.store, held)
    await holder.begin('model')
    await holder.hold('model')
    expect(await codeOf(world.store.runs.giveUp(holderOf(held)))).toBe('lease_lost')
    expect(await subject.state('a')).toBe('waiting')
  })

  it('gives hundreds back, but not a run that its holder gave up meanwhile', async () => {
    const count = 250
    const claims = Array.from({ length: count }, (_, n) =>
      new TestSubject(world).claim(`job ${n}`, { type: 'many', lease: null }),
    )
    await Promise.all(claims)
    const request = { leaseMs, type: 'many', askedOnly: false, actor: 'executor' }
    const grants = Array.from({ length: count }, () => grant({ holder: 'executor' }))
    const held = await world.store.runs.leaseMany({ ...request, grants })
    expect(held).toHaveLength(count)
    // It comes last, and all others are not taken over in one transaction.
    const inOrder = held.toSorted((a, b) => (a.run.id < b.run.id ? -1 : 1))
    const [first, last] = [inOrder[0]!, inOrder.at(-1)!]
    let isOver = false
    const taking = world.store.runs.takeOverExecutors().finally(() => (isOver = true))
    // By then it has read who holds what.
    for (let state = 'running'; state !== 'pending';) {
      await new Promise((resolve) => setImmediate(resolve))
      state = (await world.store.runs.get(first.run.id))?.state ?? 'removed'
      expect(isOver).toBe(false)
    }
    await world.store.runs.release(holderOf(last), null)
    const ofNewOwner = leaseRequest({ runId: last.run.id, grant: grant({ holder: 'executor' }) })
    await world.store.runs.lease(ofNewOwner, null)
    expect(isOver).toBe(false)
    expect(await taking).toHaveLength(count - 1)
    const after = await world.store.runs.get(last.run.id)
    expect(after).toMatchObject({ state: 'running', attempt: 1, holder: 'executor' })
  })
}
