/**
 * Goal: whoever queued a run can take it out of its queue, and takes nothing from anybody who has
 * begun to work on it meanwhile.
 */
import { expect, it } from 'vitest'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'

export function cancelPending(open: OpenStore): void {
  const world = useWorld(open)
  const cancel = (id: string) => world().store.runs.cancelPending(id, 'exec')

  it('ends a pending run, once', async () => {
    const subject = new TestSubject(world())
    const { run } = await subject.putInState('a', 'pending')
    const cancelled = await cancel(run!.id)
    expect(cancelled).toMatchObject({ state: 'cancelled', outcome: null })
    expect(await cancel(run!.id)).toEqual(cancelled)
    const ends = (await subject.audits('a')).filter(({ type }) => type === 'run.cancelled')
    expect(ends).toMatchObject([{ actor: 'exec' }])
  })

  it.each(['running', 'expired', 'succeeded', 'failed', 'cancelled', 'skipped'] as const)(
    'leaves a run that is %s as it is, and answers it',
    async (way) => {
      const subject = new TestSubject(world())
      await subject.putInState('a', way)
      const before = await subject.run('a')
      expect(await cancel(before.id)).toEqual(before)
      expect(await subject.run('a')).toEqual(before)
    },
  )

  it('never takes a run from a worker that leases it at the same time', async () => {
    for (let turn = 0; turn < 20; turn++) {
      const subject = new TestSubject(world())
      const { run } = await subject.claim('a', { lease: null })
      const lease = () => subject.lease()
      const give = () => cancel(run!.id)
      const both = turn % 2 === 0 ? [lease(), give()] : [give(), lease()]
      const [one, other] = await Promise.all(both)
      const leased = turn % 2 === 0 ? one : other
      expect(await subject.state('a')).toBe(leased === null ? 'cancelled' : 'running')
    }
  })

  it('of an unknown run is not found', async () => {
    await expect(cancel('run_unknown')).rejects.toMatchObject({ code: 'run_not_found' })
  })
}
