/**
 * Goal: the holder of a run may renew, release and complete it until another holder has it, and a
 * write with an old lease changes nothing and says why.
 */
import { describe, expect, it } from 'vitest'
import type { ClaimAnswer, LeaseAnswer } from '../../../src/store.ts'
import { completion, holderOf, leaseMs, leaseRequest, sha, tokenNote, unique } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'

type Held = ClaimAnswer | LeaseAnswer

export function holding(open: OpenStore): void {
  const world = useWorld(open)

  it('a worker that names no lease length gets the length that the claim asked for', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a', { lease: null, leaseMs: 7000 })
    const request = leaseRequest({ types: [subject.type], leaseMs: null })
    const leased = await world().store.runs.lease(request, null)
    expect(leased?.lease.expiresAt).toBe(world().store.now() + 7000)
  })
  const make = () => new TestSubject(world())

  /** Every write a holder can make, and the question whether it still holds the run. */
  const writes = [
    ['heartbeat', (held: Held) => world().store.runs.heartbeat(holderOf(held), null)],
    ['release', (held: Held) => world().store.runs.release(holderOf(held), null)],
    ['note', (held: Held) => world().store.runs.noteGitHubToken(tokenNote(held))],
    ['question', (held: Held) => world().store.runs.held(holderOf(held))],
    ['completion', (held: Held) => world().store.runs.complete(completion(held), null)],
  ] as const

  describe.each(writes)('a %s with an old lease changes nothing and says', (_what, write) => {
    async function refused(subject: TestSubject, held: Held, code: string): Promise<void> {
      const before = await subject.run('a')
      const finished = (await subject.subject()).finishedRunId
      await expect(write(held)).rejects.toMatchObject({ code })
      expect(await subject.run('a')).toEqual(before)
      expect((await subject.subject()).finishedRunId).toBe(finished)
    }

    it('superseded, after a newer head', async () => {
      const subject = make()
      const held = await subject.claim('a', { eventAt: 1 })
      await subject.claim('b', { eventAt: 2 })
      await refused(subject, held, 'superseded')
    })

    it('cancelled, after a person cancelled it', async () => {
      const subject = make()
      await refused(subject, await subject.putInState('a', 'cancelled'), 'cancelled')
    })

    it('lease_lost, after a claim took the run over', async () => {
      const subject = make()
      const held = await subject.putInState('a', 'expired')
      expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed' })
      await refused(subject, held, 'lease_lost')
    })

    it('lease_lost, after the sweeper gave the run back', async () => {
      const subject = make()
      await subject.claim('a', { lease: null })
      const held = await subject.lease()
      world().clock.move(leaseMs)
      await world().store.runs.sweep(held!.run.id)
      await refused(subject, held!, 'lease_lost')
    })

    it('lease_lost, after the holder released it', async () => {
      const subject = make()
      const held = await subject.claim('a')
      await world().store.runs.release(holderOf(held), null)
      await refused(subject, held, 'lease_lost')
    })

    it('lease_lost, after the run failed without its holder', async () => {
      const subject = new TestSubject(world(), { timeoutMs: leaseMs / 2 })
      const held = await subject.claim('a')
      world().clock.move(leaseMs / 2)
      await world().store.runs.sweep(held.run!.id)
      await refused(subject, held, 'lease_lost')
    })

    it('lease_lost, in a later round', async () => {
      const subject = make()
      const held = await subject.putInState('a', 'failed')
      await subject.complete(await subject.claim('a'))
      await refused(subject, held, 'lease_lost')
    })

    it('lease_lost, to a caller that never held it', async () => {
      const subject = make()
      const { run } = await subject.claim('a')
      await refused(subject, { ...(await make().claim('a')), run }, 'lease_lost')
    })
  })

  it.each(writes.slice(0, -1))(
    'a %s with the lease that completed says ended',
    async (_, write) => {
      const subject = make()
      const held = await subject.putInState('a', 'succeeded')
      await expect(write(held)).rejects.toMatchObject({
        code: 'ended',
        message: expect.stringContaining(
          'is already completed, and its result is stored',
        ) as string,
        hint: expect.not.stringContaining('ignored') as string,
      })
      expect(await subject.state('a')).toBe('succeeded')
    },
  )

  it.each(writes)('a %s for an unknown run is not found', async (_what, write) => {
    const held = await make().claim('a')
    const nowhere = { ...held, run: { ...held.run!, id: 'run_unknown' } }
    await expect(write(nowhere)).rejects.toMatchObject({ code: 'run_not_found' })
  })

  it('a GitHub token of the holder is in the audit, and changes nothing else', async () => {
    const subject = make()
    const held = await subject.claim('a')
    expect(await world().store.runs.held(holderOf(held))).toEqual(held.run)
    await world().store.runs.noteGitHubToken(tokenNote(held))
    expect(await subject.run('a')).toEqual(held.run)
    const { id, type, actor, causeId, data } = (await subject.audits('a')).at(-1)!
    expect(id).toBeGreaterThan(held.run!.fence)
    expect({ type, actor, causeId, data }).toEqual({
      type: 'run.github_token_issued',
      actor: 'holder',
      causeId: held.run!.fence,
      data: {
        repo: 'acme/widgets',
        repo_id: 42,
        permissions: { contents: 'read' },
        expires_at: '2026-01-31T13:00:00.000Z',
        round: 1,
        attempt: 1,
      },
    })
  })

  describe('expiry alone takes nothing away', () => {
    it('a heartbeat after it renews', async () => {
      const subject = make()
      const held = await subject.claim('a')
      world().clock.move(3 * leaseMs)
      const { expiresAt, fence } = await world().store.runs.heartbeat(holderOf(held), null)
      expect(expiresAt).toBe(world().store.now() + leaseMs)
      expect(fence).toBe(held.run?.fence)
      expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
    })

    it('a completion after it counts', async () => {
      const subject = make()
      const held = await subject.claim('a')
      world().clock.move(3 * leaseMs)
      await subject.complete(held)
      expect(await subject.state('a')).toBe('succeeded')
    })

    it('a sweep of a caller’s run leaves it to its caller', async () => {
      const subject = make()
      const held = await subject.putInState('a', 'expired')
      expect(await world().store.runs.sweep(held.run!.id)).toBeNull()
      await subject.complete(held)
      expect(await subject.state('a')).toBe('succeeded')
    })
  })

  it('a run with heartbeats is never reclaimed, however long it takes', async () => {
    const subject = make()
    const held = await subject.claim('a')
    for (let beat = 0; beat < 10; beat++) {
      world().clock.move(leaseMs - 1)
      expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
      await world().store.runs.heartbeat(holderOf(held), null)
    }
  })

  it('a lease is over at its end and not before', async () => {
    const subject = make()
    await subject.claim('a')
    world().clock.move(leaseMs - 1)
    expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
    world().clock.move(1)
    expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed' })
    expect(await subject.claim('a')).toMatchObject({ reason: 'duplicate' })
  })

  it('a heartbeat may change how long the lease is', async () => {
    const held = await make().claim('a')
    const request = { ...holderOf(held), leaseMs: 5000 }
    const answer = await world().store.runs.heartbeat(request, null)
    expect(answer).toMatchObject({ expiresAt: world().store.now() + 5000, leaseMs: 5000 })
    const next = await world().store.runs.heartbeat(holderOf(held), null)
    expect(next.leaseMs).toBe(5000)
  })

  it('the fence only grows, over claim, reclaim, release, lease, rerun and return', async () => {
    const subject = make()
    const fences: number[] = []
    const note = async () => void fences.push((await subject.run('a')).fence)
    const first = await subject.claim('a', { eventAt: 1 })
    await note()
    world().clock.move(leaseMs)
    const second = await subject.claim('a', { eventAt: 1 })
    await note()
    await world().store.runs.release(holderOf(second), null)
    const leased = await subject.lease()
    await note()
    await subject.complete(leased!)
    await world().store.runs.rerun(first.run!.id, 'person', null)
    await note()
    await subject.claim('b', { eventAt: 2 })
    await subject.claim('a', { eventAt: 3 })
    await note()
    await subject.putInState('b', 'succeeded', { eventAt: 4 })
    await subject.claim('a', { eventAt: 5 })
    await note()
    expect(fences).toEqual(fences.toSorted((a, b) => a - b))
    expect(new Set(fences).size).toBe(fences.length)
  })

  it('the fence is the id of the claim’s audit row', async () => {
    const subject = make()
    const { run } = await subject.claim('a')
    expect((await subject.audits('a'))[0]).toMatchObject({ id: run?.fence, type: 'run.claimed' })
  })

  describe('completion', () => {
    it('is stored with everything it contained', async () => {
      const subject = make()
      const held = await subject.claim('a')
      const content = {
        verdict: 'failure',
        summary: 'two findings',
        description: 'short',
        targetUrl: 'https://example.org/',
        result: '{"n":2}',
      } as const
      const run = await world().store.runs.complete(completion(held, 'succeeded', content), null)
      expect(run).toMatchObject({ ...content, state: 'succeeded', outcome: 'succeeded' })
      expect(run.finishedAt).toBe(world().store.now())
      expect(await subject.run('a')).toEqual(run)
    })

    it('repeated by its holder gets the same answer and changes nothing', async () => {
      const subject = make()
      const held = await subject.claim('a')
      const first = await subject.complete(held)
      const audits = await subject.audits('a')
      world().clock.move(1000)
      expect(await subject.complete(held, 'failed')).toEqual(first)
      expect(await subject.audits('a')).toEqual(audits)
    })

    it('of a superseded run is refused and leaves the last finished head alone', async () => {
      const subject = make()
      await subject.putInState('a', 'succeeded', { eventAt: 1 })
      const late = await subject.claim('b', { eventAt: 2 })
      await subject.claim('c', { eventAt: 3 })
      await expect(subject.complete(late)).rejects.toMatchObject({ code: 'superseded' })
      expect(await subject.state('b')).toBe('superseded')
      expect((await subject.subject()).finishedHeadSha).toBe(sha('a'))
    })

    it('gives the next run its previous one, and supersession does not undo it', async () => {
      const subject = make()
      const first = await subject.putInState('a', 'succeeded', { eventAt: 1 })
      expect(first.run).toMatchObject({ previousRunId: null, previousHeadSha: null })
      const previous = {
        previousRunId: first.run?.id,
        previousHeadSha: sha('a'),
        previousVerdict: 'success',
      }
      expect((await subject.claim('b', { eventAt: 2 })).run).toMatchObject(previous)
      expect((await subject.claim('c', { eventAt: 3 })).run).toMatchObject(previous)
    })

    it.each(['failed', 'skipped'] as const)('that %s is not the last finished', async (outcome) => {
      const subject = make()
      await subject.putInState('a', outcome, { eventAt: 1 })
      expect((await subject.claim('b', { eventAt: 2 })).run?.previousRunId).toBeNull()
    })
  })

  describe('cancel', () => {
    it.each(['pending', 'running', 'expired'] as const)('of a %s run ends it', async (way) => {
      const subject = make()
      const { run } = await subject.putInState('a', way)
      const cancelled = await world().store.runs.cancel(run!.id, 'person', null)
      expect(cancelled).toMatchObject({ state: 'cancelled', outcome: null })
      const last = (await subject.audits('a')).at(-1)
      expect(last).toMatchObject({ type: 'run.cancelled', actor: 'person' })
    })

    it.each(['succeeded', 'failed', 'cancelled', 'skipped'] as const)(
      'of a run that has %s is a conflict',
      async (way) => {
        const subject = make()
        const { run } = await subject.putInState('a', way)
        const cancel = world().store.runs.cancel(run!.id, 'person', null)
        await expect(cancel).rejects.toMatchObject({ code: 'not_active' })
        expect(await subject.state('a')).toBe(way)
      },
    )

    it('of an unknown run is not found', async () => {
      const cancel = world().store.runs.cancel('run_unknown', 'person', null)
      await expect(cancel).rejects.toMatchObject({ code: 'run_not_found' })
    })
  })

  describe('lease', () => {
    it('gives the run that has waited longest, of the types asked for', async () => {
      const type = unique('type')
      const [older, newer] = [make(), make()]
      await older.claim('a', { type, lease: null })
      world().clock.move(1)
      await newer.claim('a', { type, lease: null })
      const take = () => world().store.runs.lease(leaseRequest({ types: [type] }), null)
      expect((await take())?.run.repo).toBe(older.repo)
      expect((await take())?.run.repo).toBe(newer.repo)
      expect(await take()).toBeNull()
    })

    it('of one run by its id gives it only when it is pending and its type fits', async () => {
      const subject = make()
      const { run } = await subject.claim('a', { lease: null })
      const take = (over: object) =>
        world().store.runs.lease(leaseRequest({ runId: run!.id, ...over }), null)
      expect(await take({ types: ['another'] })).toBeNull()
      expect((await take({}))?.run).toMatchObject({ state: 'running', worker: 'a worker' })
      expect(await take({})).toBeNull()
    })

    it('of an unknown run is not found', async () => {
      const lease = world().store.runs.lease(leaseRequest({ runId: 'run_unknown' }), null)
      await expect(lease).rejects.toMatchObject({ code: 'run_not_found' })
    })
  })

  it('a release gives the run back without counting an attempt', async () => {
    const subject = make()
    await subject.claim('a', { lease: null })
    for (let times = 0; times < 5; times++) {
      const held = await subject.lease()
      const released = await world().store.runs.release(holderOf(held!), null)
      expect(released).toMatchObject({ state: 'pending', attempt: 1, round: 1, worker: null })
    }
  })

  it('of many holds, the lost ones are returned', async () => {
    const [kept, superseded, reclaimed] = [make(), make(), make()]
    const holds = []
    for (const subject of [kept, superseded, reclaimed]) {
      const { run } = await subject.claim('a', { eventAt: 1 })
      holds.push({ runId: run!.id, fence: run!.fence })
    }
    expect(await world().store.runs.lostHolds(holds)).toEqual([])
    await superseded.claim('b', { eventAt: 2 })
    world().clock.move(leaseMs)
    await reclaimed.claim('a', { eventAt: 1 })
    const lost = await world().store.runs.lostHolds([...holds, { runId: 'run_unknown', fence: 1 }])
    expect(lost).toEqual([holds[1]?.runId, holds[2]?.runId, 'run_unknown'])
  })
}
