/**
 * Goal: two callers that use the same keys, heads, names and leases at once, or in an unlucky
 * order, break no rule. Every case here once broke one.
 */
import { expect, it } from 'vitest'
import { jobClaim, leaseMs, leaseRequest, pullRequestClaim, sha, unique } from '../claims.ts'
import { onceOf } from './idempotency.suite.ts'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'

export function crossing(open: OpenStore): void {
  const world = useWorld(open)
  const page = { limit: 100, cursor: null }

  it('one key claimed for two subjects at once is one run and one conflict', async () => {
    const [key, type] = [unique('key'), unique('type')]
    const innocent = new TestSubject(world())
    const results = await Promise.allSettled([
      world().store.runs.claim(jobClaim(key, 'subject one', { type }), null),
      world().store.runs.claim(jobClaim(key, 'subject two', { type }), null),
      innocent.claim('a'),
    ])
    const reasons = results.map((result) =>
      result.status === 'fulfilled'
        ? result.value.reason
        : (result.reason as { code?: string }).code,
    )
    expect(reasons).toEqual(['new', 'key_conflict', 'new'])
  })

  it('heads claimed in a row without times are decided in that order', async () => {
    for (let turn = 0; turn < 20; turn++) {
      const subject = new TestSubject(world())
      const first = subject.claim('a')
      await Promise.resolve()
      await Promise.all([first, subject.claim('b')])
      expect(await subject.isCurrent('b')).toBe(true)
    }
  })

  it('a released lease is not granted again under its Idempotency-Key', async () => {
    const subject = new TestSubject(world())
    const key = onceOf(unique('key'))
    const first = await world().store.runs.claim(subject.claimOf('a'), key)
    const { leaseHash } = first.run!
    const holder = { runId: first.run!.id, leaseHash: leaseHash!, leaseMs: null, actor: 'test' }
    await world().store.runs.release(holder, null)
    const again = await world().store.runs.claim(subject.claimOf('a'), key)
    expect(again).toMatchObject({ process: false, reason: 'duplicate', lease: null })
  })

  it('a lease that the sweeper took is not granted again under its Idempotency-Key', async () => {
    const subject = new TestSubject(world())
    const { run } = await subject.claim('a', { lease: null })
    const key = onceOf(unique('key'))
    const request = leaseRequest({ types: [subject.type] })
    const first = await world().store.runs.lease(request, key)
    world().clock.move(leaseMs)
    expect(await world().store.runs.sweep(run!.id)).toMatchObject({ state: 'pending', attempt: 2 })
    const again = await world().store.runs.lease(leaseRequest({ types: [subject.type] }), key)
    expect(again?.run.fence).toBeGreaterThan(first!.run.fence)
    expect(again?.run.leaseHash).not.toBe(first!.run.leaseHash)
  })

  it('a heartbeat is decided again under its key once the run is lost', async () => {
    const subject = new TestSubject(world())
    const { run } = await subject.claim('a')
    const key = onceOf(unique('key'))
    const { id: runId, leaseHash } = run!
    const holder = { runId, leaseHash: leaseHash!, leaseMs: null, actor: 'test' }
    await world().store.runs.heartbeat(holder, key)
    await subject.claim('b')
    await expect(world().store.runs.heartbeat(holder, key)).rejects.toMatchObject({
      code: 'superseded',
    })
  })

  it('giving a run back raises its fence', async () => {
    const subject = new TestSubject(world())
    const { run } = await subject.claim('a')
    const { id: runId, leaseHash } = run!
    const holder = { runId, leaseHash: leaseHash!, leaseMs: null, actor: 'test' }
    const released = await world().store.runs.release(holder, null)
    expect(released.fence).toBeGreaterThan(run!.fence)
  })

  it('a look that began before a newer claim decides nothing about it', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a')
    const unclear = await subject.claim('b')
    await subject.claim('c')
    const { id: runId, fence } = unclear.run!
    const head = { headSha: sha('a'), baseSha: sha('main'), at: world().store.now() }
    const seen = { runId, fence, ...head, actor: 'check' }
    expect(await world().store.runs.confirmHead(seen)).toMatchObject({ result: 'unchanged' })
    expect(await subject.state('c')).toBe('running')
  })

  it('a look counts although a worker has leased the run meanwhile', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a', { eventAt: 1 })
    const unclear = await subject.claim('b', { lease: null })
    await subject.lease()
    const { id: runId, fence } = unclear.run!
    const head = { headSha: sha('a'), baseSha: sha('main'), at: world().store.now() }
    const seen = { runId, fence, ...head, actor: 'check' }
    expect(await world().store.runs.confirmHead(seen)).toMatchObject({ result: 'moved' })
    expect(await subject.state('b')).toBe('superseded')
  })

  it('a new round has the lease that its own claim asked for', async () => {
    const subject = new TestSubject(world())
    await subject.putInState('a', 'failed', { leaseMs: 9000 })
    const again = await subject.claim('a', { lease: null, leaseMs: 20_000 })
    expect(again).toMatchObject({ reason: 'retry', run: { leaseMs: 20_000 } })
  })

  it('a head that is worked on and comes back before the queued one is current again', async () => {
    const subject = new TestSubject(world(), { onNewer: 'queue' })
    await subject.claim('a', { eventAt: 1 })
    await subject.claim('b', { eventAt: 2 })
    expect(await subject.claim('a', { eventAt: 4 })).toMatchObject({ reason: 'duplicate' })
    expect(await subject.isCurrent('a')).toBe(true)
    expect(await subject.claim('c', { eventAt: 3 })).toMatchObject({ reason: 'stale-event' })
  })

  it('a long queue can be superseded when the type’s policy changes', async () => {
    const queue = new TestSubject(world(), { kind: 'job' })
    await Promise.all(Array.from({ length: 700 }, (_, n) => queue.claim(`job ${n}`)))
    const policy = { ...queue.policy, onNewer: 'supersede' as const }
    const last = await queue.claim('last', { policy })
    expect(last).toMatchObject({ reason: 'superseded-prior' })
    expect(last.supersededKeys).toHaveLength(700)
    const active = await world().store.runs.list({ type: queue.type, state: 'pending' }, page)
    expect(active.items).toEqual([])
  })

  it('the run that a queue starts next has its audit row', async () => {
    const queue = new TestSubject(world(), { kind: 'job' })
    const first = await queue.claim('a')
    await queue.claim('b')
    await queue.complete(first)
    expect((await queue.audits('b')).map(({ type }) => type)).toEqual([
      'run.claimed',
      'run.dequeued',
    ])
  })

  it('a worker of two types gets the run that has waited longest', async () => {
    const [one, two] = [new TestSubject(world()), new TestSubject(world())]
    await two.claim('a', { lease: null })
    world().clock.move(10)
    await one.claim('a', { lease: null })
    const types = [one.type, two.type]
    const first = await world().store.runs.lease(leaseRequest({ types }), null)
    expect(first?.run.type).toBe(two.type)
    const second = await world().store.runs.lease(leaseRequest({ types }), null)
    expect(second?.run.type).toBe(one.type)
    expect(await world().store.runs.lease(leaseRequest({ types }), null)).toBeNull()
  })

  it('a claim at the same time as its repository’s rename gets the right repository', async () => {
    const [before, after] = [unique('acme/old'), unique('acme/new')]
    const id = 900_000_000 + (world().store.now() % 1_000_000)
    await world().store.repositories.learn(before, id, 'now', 'test')
    const claims = (repo: string, head: string) =>
      world().store.runs.claim(pullRequestClaim({ repo, pr: 5, head }), null)
    await claims(after, 'a')
    await Promise.all([
      world().store.repositories.learn(after, id, 'now', 'test'),
      ...['b', 'c', 'd', 'e'].map((head) => claims(after, head)),
    ])
    await claims(before, 'f')
    const running = await world().store.runs.list({ repo: after, state: 'running' }, page)
    const old = await world().store.runs.list({ repo: before, state: 'running' }, page)
    const found = new Set([...running.items, ...old.items].map((run) => run.id))
    expect(found.size).toBe(1)
  })
}
