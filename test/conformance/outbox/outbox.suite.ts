/**
 * Goal: whatever happens to a run, what GitHub should show is stored with it: opened by its claim,
 * closed by every way it can end, and never changed by a holder that lost the run.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import { isNewer } from '../../../src/domain/outbox/delivery.ts'
import type { Run } from '../../../src/domain/run.ts'
import { seed } from '../../seed.ts'
import { completion, leaseMs, sha } from '../claims.ts'
import { announced, contentOf } from './manual-publisher.ts'
import { useOutbox } from './outbox-world.ts'
import { TestSubject, type TestSubjectOptions } from '../test-subject.ts'
import { decided, received } from '../inbox/webhooks.ts'
import { hour, type OpenStore, type World } from '../world.ts'

export function announcing(open: OpenStore): void {
  const { world, publisher, make } = useOutbox(open)
  const report = (run: Run, text: string) => {
    const { id: runId, leaseHash } = run
    return world.store.runs.reportStatus({ runId, leaseHash, text, actor: 'test' }, null)
  }
  const all = async (): Promise<readonly Delivery[]> =>
    (await world.store.outbox.list({}, { limit: 1000, cursor: null })).items

  describe('a claim', () => {
    it('opens a comment, a status and a check run, and none of them is sent yet', async () => {
      const { run } = await make().claim('a')
      const { anchor, status, check } = await publisher.of(run!.id)
      for (const each of [anchor, status, check]) {
        expect(each).toMatchObject({
          ...{ status: 'PENDING', wait: 'due', announces: true, final: false, attemptId: null },
          ...{ versionFence: run!.fence, versionSeq: 1, round: 1, thread: 5 },
        })
      }
      expect(status?.sha).toBe(sha('a'))
      expect(contentOf(status!)).toMatchObject({ context: 'holdfast/review', state: 'pending' })
      expect(contentOf(check!)).toMatchObject({ status: 'in_progress', conclusion: null })
      expect(contentOf(anchor!).view.state).toBe('running')
    })

    it('shows only what its type announces', async () => {
      const { run: quiet } = await new TestSubject(world).claim('a')
      expect(await publisher.of(quiet!.id)).toEqual({})
      const only = { ...announced, anchorPer: null, checkName: null }
      const { run } = await make({ announcement: only }).claim('a')
      expect(Object.keys(await publisher.of(run!.id))).toEqual(['status'])
    })

    it('that is refused, stale or a duplicate writes nothing', async () => {
      const subject = make()
      await subject.claim('b', { eventAt: 5000 })
      const before = await all()
      expect((await subject.claim('b')).reason).toBe('duplicate')
      expect((await subject.claim('a', { eventAt: 1000 })).reason).toBe('stale-event')
      const { key } = subject.claimOf('b')
      const other = { ...subject.claimOf('c'), key, subjectName: 'pr-6' }
      await expect(world.store.runs.claim(other, null)).rejects.toMatchObject({
        code: 'key_conflict',
      })
      expect(await all()).toEqual(before)
    })

    it('by another holder of the same round changes only the comment', async () => {
      const subject = make()
      const { run } = await subject.claim('a', { lease: null })
      const before = await publisher.of(run!.id)
      expect(contentOf(before['anchor']!).view.state).toBe('pending')
      await subject.lease()
      const after = await publisher.of(run!.id)
      expect(contentOf(after['anchor']!).view.state).toBe('running')
      expect(after['anchor']?.versionSeq).toBe(2)
      expect(after['status']).toEqual(before['status'])
      expect(after['check']).toEqual(before['check'])
    })
  })

  describe('a report', () => {
    it('is the comment’s next version; the status does not change', async () => {
      const { run } = await make().claim('a')
      await report(run!, 'reading')
      const { anchor, status } = await publisher.of(run!.id)
      expect(anchor).toMatchObject({ versionFence: run!.fence, versionSeq: 2, coalesced: 1 })
      expect(contentOf(anchor!).view).toMatchObject({ reports: [{ text: 'reading', count: 1 }] })
      expect(status?.versionSeq).toBe(1)
    })

    it('of a holder that lost the run writes nothing', async () => {
      const subject = make()
      const { run: old } = await subject.claim('a')
      await subject.claim('b')
      const before = await all()
      await expect(report(old!, 'late')).rejects.toMatchObject({ code: 'superseded' })
      expect(await all()).toEqual(before)
    })
  })

  it('ten completions at once create one next version of the status (scenario 49)', async () => {
    const subject = make()
    const held = await subject.claim('a')
    const outcomes = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? 'succeeded' : 'failed'))
    const ends = await Promise.all(outcomes.map((outcome) => subject.complete(held, outcome)))
    const [first] = ends
    for (const end of ends) expect(end).toEqual(first)
    const { status, check } = await publisher.of(held.run!.id)
    for (const each of [status, check]) expect(each).toMatchObject({ versionSeq: 2, final: true })
    const types = (await subject.audits('a')).map(({ type }) => type)
    expect(types.filter((type) => /^run\.(succeeded|failed)$/.test(type))).toHaveLength(1)
  })

  describe('every way a run can end closes what its claim opened', () => {
    it.each(ends)('$way', async ({ way, options, end, state, conclusion }) => {
      const subject = make(options)
      let shown: Readonly<Record<string, Delivery>> = {}
      const { run } = await subject.claim('a', way.includes('worker') ? { lease: null } : {})
      await end(world, subject, async () => {
        await publisher.publish()
        shown = await publisher.of(run!.id)
      })
      expect(contentOf(shown['status']!)).toMatchObject({ state: 'pending' })
      const { status, check, anchor } = await publisher.of(run!.id)
      expect(contentOf(status!)).toMatchObject({ state })
      expect(contentOf(check!)).toMatchObject({ status: 'completed', conclusion })
      for (const each of [status, check]) {
        expect(each).toMatchObject({ status: 'PENDING', final: true, announces: false })
        // The end goes before progress, and does not wait for a coalescing window.
        expect(each).toMatchObject({ priority: 0, dueAt: world.store.now() })
      }
      // A newer run has taken over the comment.
      if (way !== 'superseded') expect(contentOf(anchor!).view.state).not.toBe('running')
      else expect(anchor).toBeUndefined()
      await publisher.publish()
      for (const each of await all()) {
        if (each.runId === run!.id) expect(each).toMatchObject({ status: 'SENT', announces: false })
      }
      expect(await world.store.outbox.closeForgotten(100)).toBe(0)
    })

    it.each(['cancelled', 'superseded'] as const)(
      'a run that was %s before anything was sent closes nothing',
      async (way) => {
        const subject = make()
        const { run } = await subject.claim('a')
        if (way === 'cancelled') await world.store.runs.cancel(run!.id, 'test', null)
        else await subject.claim('b')
        const { status, check } = await publisher.of(run!.id)
        for (const each of [status, check]) {
          expect(each).toMatchObject({
            ...{ status: 'SKIPPED', reason: 'never_announced', announces: false, dueAt: null },
          })
          expect(await publisher.auditTypes(each!.id)).toEqual(['delivery.skipped'])
        }
      },
    )

    it('a run that takes over progress and is cancelled at once closes it', async () => {
      const subject = make()
      const { run: first } = await subject.claim('a')
      await publisher.publish()
      const { run } = await subject.claim('b')
      await world.store.runs.cancel(run!.id, 'test', null)
      const anchor = await publisher.named(run!.id, 'anchor')
      expect(anchor).toMatchObject({ status: 'PENDING', final: true, announces: false })
      expect(contentOf(anchor).view.state).toBe('cancelled')
      expect((await publisher.named(run!.id, 'status')).reason).toBe('never_announced')
      expect(contentOf(await publisher.named(first!.id, 'status'))).toMatchObject({
        state: 'error',
      })
    })

    it('a head that comes back and is cancelled at once closes what it showed before', async () => {
      const subject = make()
      const { run } = await subject.claim('a', { eventAt: 1000 })
      await publisher.publish()
      await subject.claim('b', { eventAt: 2000 })
      expect((await subject.claim('a', { eventAt: 3000 })).reason).toBe('returned')
      await world.store.runs.cancel(run!.id, 'test', null)
      const status = await publisher.named(run!.id, 'status')
      expect(status).toMatchObject({ status: 'PENDING', final: true })
      expect(contentOf(status)).toMatchObject({ state: 'error' })
    })

    it('a rerun that is cancelled before it is shown leaves the earlier result shown', async () => {
      const subject = make()
      const held = await subject.claim('a')
      await subject.complete(held)
      await publisher.publish()
      await subject.claim('a', { rerun: true })
      await world.store.runs.cancel(held.run!.id, 'test', null)
      expect(await publisher.named(held.run!.id, 'status')).toMatchObject({
        ...{ status: 'SKIPPED', reason: 'never_announced', final: true },
      })
    })
  })

  describe('a new round', () => {
    it('opens the status and the comment again, and has its own check run', async () => {
      const subject = make()
      const held = await subject.claim('a')
      await subject.complete(held)
      await publisher.publish()
      const before = await all()
      const { run } = await subject.claim('a', { rerun: true })
      const after = await all()
      const named = (list: readonly Delivery[], name: string) =>
        list.filter((each) => each.name === name)
      for (const name of ['status', 'anchor']) {
        const [old, ...more] = named(before, name)
        const [now] = named(after, name)
        expect(more).toEqual([])
        expect(now).toMatchObject({ id: old?.id, status: 'PENDING', announces: true, round: 2 })
        expect(now).toMatchObject({ versionFence: run!.claimFence, providerId: old?.providerId })
      }
      expect(new Set(named(after, 'check').map(({ round }) => round))).toEqual(new Set([1, 2]))
    })

    it('that was requested begins when the round before it ends', async () => {
      const subject = make()
      const held = await subject.claim('a')
      await publisher.publish()
      await subject.claim('a', { rerun: true })
      await subject.complete(held, 'failed')
      const status = await publisher.named(held.run!.id, 'status')
      expect(contentOf(status)).toMatchObject({ state: 'pending' })
      expect(status).toMatchObject({ round: 2, announces: true })
    })
  })

  it('in a queue the active run has the comment, and every commit its own status', async () => {
    const subject = make({ onNewer: 'queue' })
    const first = await subject.claim('a')
    const { run: next } = await subject.claim('b')
    expect(Object.keys(await publisher.of(next!.id)).toSorted()).toEqual(['check', 'status'])
    await subject.complete(first)
    const { anchor } = await publisher.of(next!.id)
    expect(contentOf(anchor!).view).toMatchObject({ state: 'pending', past: [{}] })
  })

  /** Rule 7. */
  it('versions never go back, in whatever order changes come', async () => {
    const step = fc.record({
      what: fc.constantFrom('claim', 'rerun', 'report', 'complete', 'cancel', 'publish', 'take'),
      head: fc.constantFrom('a', 'b', 'c'),
      at: fc.integer({ min: 1, max: 9 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        const subject = make()
        const held = new Map<string, Awaited<ReturnType<TestSubject['claim']>>>()
        const seen = new Map<string, Delivery>()
        for (const { what, head, at } of steps) {
          await play(what, head, at).catch(() => undefined)
          for (const each of await all()) {
            const before = seen.get(each.target)
            if (before !== undefined) expect(isNewer(before, each)).toBe(false)
            seen.set(each.target, each)
          }
        }
        async function play(what: string, head: string, at: number): Promise<unknown> {
          const holder = held.get(head)
          const { store } = world
          if (what === 'publish') return await publisher.publish().then(() => null)
          if (what === 'take') return await publisher.lease(1)
          if (what === 'cancel') return await store.runs.cancel(holder!.run!.id, 'test', null)
          if (what === 'report') return await report(holder!.run!, `${at}`)
          if (what === 'complete') return await subject.complete(holder!)
          const rerun = what === 'rerun'
          const claimed = await subject.claim(head, { rerun, eventAt: rerun ? null : at * 1000 })
          if (claimed.lease !== null) held.set(head, claimed)
          return claimed
        }
      }),
      { numRuns: 30, seed },
    )
  })
}

interface End {
  readonly way: string
  readonly options?: TestSubjectOptions
  /** `shown` publishes what is due so far. */
  readonly end: (world: World, subject: TestSubject, shown: () => Promise<void>) => Promise<unknown>
  readonly state: 'success' | 'failure' | 'error'
  readonly conclusion: string
}

const completing = (outcome: 'succeeded' | 'failed' | 'skipped'): End['end'] =>
  async function (world, subject, shown) {
    await shown()
    const run = await subject.run('a')
    const done = completion({ run, lease: { secret: '', expiresAt: 0 } }, outcome)
    return await world.store.runs.complete({ ...done, leaseHash: run.leaseHash! }, null)
  }

/** The sweeper ends the run after this time, with or without a worker. */
const sweptAfter = (ms: number, before: 'lease' | 'nothing' = 'nothing'): End['end'] =>
  async function (world, subject, shown) {
    if (before === 'lease') await subject.lease()
    await shown()
    world.clock.move(ms)
    return await world.store.runs.sweep((await subject.run('a')).id)
  }

/** Rule 5, row by row. */
const ends: readonly End[] = [
  { way: 'succeeded', end: completing('succeeded'), state: 'success', conclusion: 'success' },
  { way: 'failed', end: completing('failed'), state: 'failure', conclusion: 'failure' },
  { way: 'skipped', end: completing('skipped'), state: 'success', conclusion: 'skipped' },
  {
    way: 'cancelled',
    end: async ({ store }, subject, shown) => {
      await shown()
      await store.runs.cancel((await subject.run('a')).id, 'test', null)
    },
    state: 'error',
    conclusion: 'cancelled',
  },
  {
    way: 'cancelled with its pull request',
    end: async ({ store }, subject, shown) => {
      await shown()
      const { type, repo } = subject
      const entry = await received(store, { repo, repoId: null })
      await store.inbox.finish(decided(entry, { act: 'cancel', type, repo, pr: 5 }))
    },
    state: 'error',
    conclusion: 'cancelled',
  },
  {
    way: 'superseded',
    end: async (_world, subject, shown) => {
      await shown()
      await subject.claim('b')
    },
    state: 'error',
    conclusion: 'cancelled',
  },
  {
    way: 'timed out',
    options: { timeoutMs: leaseMs / 2 },
    end: sweptAfter(leaseMs / 2),
    state: 'error',
    conclusion: 'timed_out',
  },
  {
    way: 'found no worker',
    end: sweptAfter(hour),
    state: 'error',
    conclusion: 'cancelled',
  },
  {
    way: 'lost its worker for the last time',
    options: { attempts: 1 },
    end: sweptAfter(leaseMs, 'lease'),
    state: 'error',
    conclusion: 'cancelled',
  },
  {
    way: 'lost its caller',
    end: sweptAfter(11 * leaseMs),
    state: 'error',
    conclusion: 'cancelled',
  },
]
