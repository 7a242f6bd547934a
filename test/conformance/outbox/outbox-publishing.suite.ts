/**
 * Goal: many publishers on one store send each delivery once: a delivery has one holder, an attempt
 * is stored before it leaves, a holder that lost its lease changes nothing, and the budget is never
 * exceeded.
 */
import { describe, expect, it } from 'vitest'
import { allRights } from '../../../src/channels/github-channels.ts'
import { defaultPublishing } from '../../../src/domain/outbox/schedule.ts'
import type { AttemptEnd } from '../../../src/domain/outbox/outcome.ts'
import type { Run } from '../../../src/domain/run.ts'
import { identity, noAnswer, sentEnd } from './manual-publisher.ts'
import { onlyAnchor, onlyStatus, useOutbox } from './outbox-world.ts'
import { TestSubject } from '../test-subject.ts'
import { minute, second, type OpenStore } from '../world.ts'

export function publishing(open: OpenStore): void {
  const { world, publisher, outbox, move, now } = useOutbox(open)
  const make = (announcement = onlyStatus) => new TestSubject(world, { announcement })
  const claim = async (announcement = onlyStatus): Promise<Run> =>
    (await make(announcement).claim('a')).run!
  const report = ({ id: runId, leaseHash }: Run, text: string) =>
    world.store.runs.reportStatus({ runId, leaseHash, text, actor: 'test' }, null)
  const attempts = async (id: string) => (await outbox().attemptsOf(id)).toReversed()

  describe('a lease', () => {
    it('gives what is due to one holder, with its target', async () => {
      const { id, repo } = await claim()
      const [leased, ...more] = await publisher.lease()
      expect(more).toEqual([])
      expect(leased).toMatchObject({ repo, repoGithubId: null, threadCreatedAt: null })
      expect(leased?.delivery.runId).toBe(id)
      expect(await publisher.lease()).toEqual([])
      const dueAt = world.store.now() + defaultPublishing.deliveryLeaseMs
      expect(await outbox().nextDueAt()).toBe(dueAt)
    })

    it('expires: the next holder starts again, and the first has lost the delivery', async () => {
      await claim()
      const first = await publisher.leaseNamed('status')
      move(defaultPublishing.deliveryLeaseMs - 1)
      expect(await publisher.lease()).toEqual([])
      move(1)
      const second = await publisher.leaseNamed('status')
      expect(second.delivery).toMatchObject({ wait: 'due', protocol: {} })
      expect(await publisher.begin(first)).toEqual({ result: 'lost' })
      expect(await outbox().record(first.lease, { what: 'reserve' })).toBe('lost')
      expect((await now(first.delivery.id)).leaseId).toBe(second.lease.leaseId)
      expect(await publisher.send(second)).toBe('recorded')
      expect(await attempts(first.delivery.id)).toHaveLength(1)
    })

    it('takes creates and ends first, and only as much progress as there is room for', async () => {
      const old = await claim(onlyAnchor)
      await publisher.publish()
      await report(old, 'progress')
      move(minute)
      const fresh = await claim(onlyAnchor)
      const order = (await outbox().lease({ limit: 1, progressMax: 1 })).map(
        ({ delivery }) => delivery.runId,
      )
      expect(order).toEqual([fresh.id])
      expect(await outbox().lease({ limit: 5, progressMax: 0 })).toEqual([])
      expect(await outbox().lease({ limit: 5, progressMax: 1 })).toHaveLength(1)
    })

    it('is dropped when the only process restarts', async () => {
      await claim()
      const dead = await publisher.leaseNamed('status')
      await publisher.begun(dead)
      expect(await outbox().takeOverLeases()).toBe(1)
      const next = await publisher.leaseNamed('status')
      expect(next.delivery).toMatchObject({ wait: 'in_doubt', protocol: { doubt: { looks: 0 } } })
      expect(await outbox().takeOverLeases()).toBe(1)
    })
  })

  describe('an attempt', () => {
    it('is stored before its request may leave, and has its outcome afterwards', async () => {
      await claim()
      const leased = await publisher.leaseNamed('status')
      const attempt = await publisher.begun(leased)
      const { id } = leased.delivery
      expect(await attempts(id)).toMatchObject([
        { id: attempt.id, action: 'create', outcome: null, endedAt: null, late: false },
      ])
      expect((await now(id)).attemptId).toBe(attempt.id)
      await publisher.end(leased, attempt, sentEnd({ providerId: '77' }))
      expect(await attempts(id)).toMatchObject([{ outcome: 'sent', providerId: '77' }])
      const { versionFence: sentFence } = leased.delivery
      expect(await now(id)).toMatchObject({
        ...{ status: 'SENT', providerId: '77', sentFence, sentSeq: 1, dueAt: null },
        ...{ leaseId: null, attemptId: null, errorCode: null },
      })
      expect(await publisher.auditTypes(id)).toEqual(['delivery.sent'])
    })

    it('does not begin for a version that is no longer the newest', async () => {
      const run = await claim(onlyAnchor)
      const leased = await publisher.leaseNamed('anchor')
      await report(run, 'newer')
      expect(await publisher.begin(leased)).toEqual({ result: 'changed' })
      expect(await attempts(leased.delivery.id)).toEqual([])
      const again = await publisher.leaseNamed('anchor')
      expect(again.delivery.versionSeq).toBe(2)
      expect(await publisher.send(again)).toBe('recorded')
    })

    it('closes only the version it carried', async () => {
      const run = await claim(onlyAnchor)
      const leased = await publisher.leaseNamed('anchor')
      const attempt = await publisher.begun(leased)
      await report(run, 'while it was on its way')
      await publisher.end(leased, attempt, sentEnd())
      expect(await now(leased.delivery.id)).toMatchObject({
        ...{ status: 'PENDING', versionSeq: 2, sentSeq: 1, wait: 'due' },
      })
    })

    it('whose answer never came is looked for, and its target is settled', async () => {
      await claim()
      const leased = await publisher.leaseNamed('status')
      await publisher.send(leased, noAnswer)
      const { id } = leased.delivery
      expect(await now(id)).toMatchObject({
        ...{ status: 'PENDING', wait: 'in_doubt', tries: 1 },
        protocol: { doubt: { action: 'create', looks: 0 }, unsettled: true },
      })
      expect(await attempts(id)).toMatchObject([{ outcome: 'in_doubt', errorCode: 'unanswered' }])
      expect(await publisher.auditTypes(id)).toEqual(['delivery.in_doubt'])
    })

    it('of a lost holder is in doubt; its late outcome is stored and changes nothing', async () => {
      await claim()
      const zombie = await publisher.leaseNamed('status')
      const attempt = await publisher.begun(zombie)
      move(defaultPublishing.deliveryLeaseMs)
      const next = await publisher.leaseNamed('status')
      const { id } = next.delivery
      expect(next.delivery).toMatchObject({ wait: 'in_doubt', protocol: { unsettled: true } })
      expect(await attempts(id)).toMatchObject([{ outcome: 'in_doubt', errorCode: 'holder_lost' }])
      const before = await now(id)
      expect(await publisher.end(zombie, attempt, sentEnd({ providerId: '9' }))).toBe('late')
      expect(await attempts(id)).toMatchObject([{ outcome: 'sent', late: true, providerId: '9' }])
      const after = await now(id)
      expect(after).toEqual({ ...before, rev: after.rev })
      const seen = { what: 'looked', found: [], unverified: false, hash: 'h', looks: 1 } as const
      expect(await outbox().record(next.lease, seen)).toBe('recorded')
      expect(await now(id)).toMatchObject({ status: 'PENDING', wait: 'due' })
    })

    it('that ends late after the next success makes its target be read again', async () => {
      await claim()
      const zombie = await publisher.leaseNamed('status')
      const attempt = await publisher.begun(zombie)
      move(defaultPublishing.deliveryLeaseMs)
      const next = await publisher.leaseNamed('status')
      const { id, versionFence, versionSeq } = next.delivery
      const found = [{ providerId: '5', url: null, current: true }]
      const seen = { what: 'looked', found, unverified: false, hash: 'h', looks: 1 } as const
      await outbox().record(next.lease, seen)
      expect(await now(id)).toMatchObject({ status: 'SENT', providerId: '5' })
      await publisher.end(zombie, attempt, sentEnd({ providerId: '6' }))
      const after = await now(id)
      expect(after).toMatchObject({
        status: 'SENT',
        providerId: '5',
        protocol: { unsettled: true },
      })
      expect(after.dueAt).toBeGreaterThan(world.store.now())
      expect(after).toMatchObject({ versionFence, versionSeq })
    })

    it('has one outcome: a second report of it is late', async () => {
      await claim()
      const leased = await publisher.leaseNamed('status')
      const attempt = await publisher.begun(leased)
      expect(await publisher.end(leased, attempt, sentEnd({ providerId: '1' }))).toBe('recorded')
      expect(await publisher.end(leased, attempt, sentEnd({ providerId: '2' }))).toBe('late')
      expect((await now(leased.delivery.id)).providerId).toBe('1')
    })

    it('that was refused permanently is FAILED, with its reason', async () => {
      const run = await claim()
      const leased = await publisher.leaseNamed('status')
      const trouble = { code: 'forbidden', text: 'not allowed' }
      await publisher.send(leased, { what: 'permanent', trouble })
      const { id } = leased.delivery
      expect(await now(id)).toMatchObject({ status: 'FAILED', reason: 'forbidden', dueAt: null })
      expect(await publisher.auditTypes(id)).toEqual(['delivery.failed'])
      const backlog = await outbox().backlog()
      expect(backlog).toMatchObject({ failed: 1, unreportedCount: 0 })
      await world.store.runs.cancel(run.id, 'test', null)
      expect(await now(id)).toMatchObject({ status: 'PENDING', final: true })
      expect(await outbox().backlog()).toMatchObject({ unreportedCount: 0, unreported: [] })
    })

    it('leaves an ended run shown as running only if GitHub showed it before', async () => {
      const refused = { what: 'permanent', trouble: { code: 'forbidden', text: 'no' } } as const
      const shown = await claim()
      await publisher.publish()
      await world.store.runs.cancel(shown.id, 'test', null)
      const end = await publisher.leaseNamed('status')
      await publisher.send(end, refused)
      const unreported = [{ runId: shown.id, deliveryId: end.delivery.id, status: 'FAILED' }]
      expect(await outbox().backlog()).toMatchObject({ failed: 1, unreportedCount: 1, unreported })
    })

    it('of a completed check run, once refused, leaves nothing that shows as running', async () => {
      const { id: runId, leaseHash } = await claim({ ...onlyStatus, statusContext: null })
      const content = { name: 'types', status: 'completed', conclusion: 'success', title: '' }
      const output = { name: 'own', channel: 'github-check', content, rightsOf: () => allRights }
      await outbox().publish({ runId, leaseHash, actor: 'test', ...output }, null)
      const trouble = { code: 'forbidden', text: 'no' }
      await publisher.send(await publisher.leaseNamed('own'), { what: 'permanent', trouble })
      expect(await outbox().backlog()).toMatchObject({ failed: 1, unreportedCount: 0 })
    })

    it('is repeated after 1, 2 and 4 seconds, then in the background, then given up', async () => {
      await claim()
      const trouble = { code: 'network', text: 'no connection' }
      const end: AttemptEnd = { what: 'retry', trouble, after: null }
      const gaps: number[] = []
      for (;;) {
        const leased = await publisher.leaseNamed('status')
        await publisher.send(leased, end)
        const { status, dueAt } = await now(leased.delivery.id)
        if (status !== 'PENDING') break
        gaps.push(dueAt! - world.store.now())
        move(dueAt! - world.store.now())
      }
      expect(gaps.slice(0, 3)).toEqual([1 * second, 2 * second, 4 * second])
      expect(Math.min(...gaps.slice(3))).toBeGreaterThanOrEqual(15 * second)
      const total = gaps.reduce((sum, gap) => sum + gap, 0)
      expect(total).toBeGreaterThan(23 * 60 * minute)
      expect(total).toBeLessThanOrEqual(24 * 60 * minute)
      const [failed] = (await outbox().list({ status: 'FAILED' }, { limit: 5, cursor: null })).items
      expect(failed?.reason).toBe('deadline')
    })
  })

  describe('the budget', () => {
    const limits = { spacingMs: second, perMinute: 4, perHour: 6 }

    it('spaces the writes of an identity and counts minutes and hours', async () => {
      for (let n = 0; n < 3; n += 1) await claim()
      const [first, next, third] = await publisher.lease()
      expect((await publisher.begin(first!, { limits })).result).toBe('begun')
      const spaced = await publisher.begin(next!, { limits })
      expect(spaced).toEqual({
        ...{ result: 'budget', why: 'spacing', until: world.store.now() + second },
      })
      expect(await attempts(next!.delivery.id)).toEqual([])
      // Another identity has its own budget.
      expect((await publisher.begin(third!, { limits, identity: 'other' })).result).toBe('begun')
      move(second)
      expect((await publisher.begin(next!, { limits })).result).toBe('begun')
      const [budget] = (await outbox().budgets()).filter((each) => each.identity === identity)
      const used = budget?.seconds.reduce((sum, [, all]) => sum + all, 0)
      expect(used).toBe(2)
    })

    it('leaves half of each window to creates and ends', async () => {
      const runs = [await claim(onlyAnchor), await claim(onlyAnchor), await claim(onlyAnchor)]
      await publisher.publish()
      move(minute)
      for (const run of runs) await report(run, 'progress')
      const half = { ...limits, spacingMs: 0 }
      const results: string[] = []
      for (const leased of await publisher.lease()) {
        results.push((await publisher.begin(leased, { limits: half, identity: 'app' })).result)
      }
      expect(results).toEqual(['begun', 'begun', 'budget'])
      await claim(onlyAnchor)
      const leased = await publisher.leaseNamed('anchor')
      expect((await publisher.begin(leased, { limits: half, identity: 'app' })).result).toBe(
        'begun',
      )
    })

    it('of a blocked identity is zero until the block is over; no block gets shorter', async () => {
      await claim()
      const leased = await publisher.leaseNamed('status')
      const until = world.store.now() + 5 * second
      await outbox().blockIdentity(identity, until, 'rate_limited', 'publisher')
      await outbox().blockIdentity(identity, until - second, 'rate_limited', 'catch-up')
      expect(await outbox().blockedUntil(identity)).toBe(until)
      expect(await outbox().blockedUntil('other')).toBeNull()
      expect(await publisher.begin(leased)).toEqual({ result: 'budget', why: 'blocked', until })
      move(5 * second)
      expect(await outbox().blockedUntil(identity)).toBeNull()
      expect((await publisher.begin(leased)).result).toBe('begun')
      const blocked = await world.store.audit.list(
        { type: 'budget.blocked' },
        { limit: 9, cursor: null },
      )
      expect(blocked.items.map(({ actor }) => actor)).toEqual(['catch-up', 'publisher'])
    })

    it('is blocked by a limit answer, which costs neither a try nor time', async () => {
      await claim()
      const leased = await publisher.leaseNamed('status')
      const until = world.store.now() + 60 * second
      const trouble = { code: 'rate_limited', text: 'slow down' }
      await publisher.send(leased, { what: 'rate_limited', until, trouble })
      const after = await now(leased.delivery.id)
      expect(after).toMatchObject({ status: 'PENDING', wait: 'budget', tries: 0, dueAt: until })
      expect(after.deadlineAt).toBe(leased.delivery.deadlineAt + 60 * second)
      expect(await outbox().blockedUntil(identity)).toBe(until)
    })
  })

  it('all publishers share one set of keys and authors', async () => {
    const [first, second] = await Promise.all([outbox().markerKeys(), outbox().markerKeys()])
    expect(first).toHaveLength(1)
    expect(second).toEqual(first)
    await outbox().learnAuthor({ kind: 'user', githubId: 7 })
    await outbox().learnAuthor({ kind: 'user', githubId: 7 })
    await outbox().learnAuthor({ kind: 'app', githubId: 3 })
    expect(await outbox().authors()).toEqual([
      { kind: 'app', githubId: 3 },
      { kind: 'user', githubId: 7 },
    ])
  })
}
