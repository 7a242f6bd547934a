/**
 * Goal: every row of the claim table, in every state that its key can have.
 * Method: a subject is put into the state and claimed once more; the test checks the answer, the
 * rows and the subject. `waiting` is left out, because no verb leads there yet.
 */
import { describe, expect, it } from 'vitest'
import { onNewerChoices } from '../../../src/domain/run.ts'
import { jobClaim, leaseMs, unique } from '../claims.ts'
import { activeStates, endedStates, TestSubject, keyStates, type Kind } from '../test-subject.ts'
import { second, useWorld, type OpenStore } from '../world.ts'

const kinds: readonly Kind[] = ['pull request', 'job']
const everyKind = kinds.flatMap((kind) => onNewerChoices.map((onNewer) => ({ kind, onNewer })))

export function claimTable(open: OpenStore): void {
  const world = useWorld(open)

  describe.each(everyKind)('a $kind where a newer one leads to $onNewer', (options) => {
    const make = () => new TestSubject(world(), options)

    it('the first claim of a key is new and held by its claimer', async () => {
      const subject = make()
      const answer = await subject.claim('a')
      expect(answer).toMatchObject({ reason: 'new', process: true, supersededKeys: [] })
      expect(answer.run).toMatchObject({ state: 'running', attempt: 1, round: 1, holder: 'caller' })
      expect(answer.lease?.expiresAt).toBe(world().store.now() + leaseMs)
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it('a claim without a lease leaves the run pending for a worker', async () => {
      const subject = make()
      const answer = await subject.claim('a', { lease: null })
      expect(answer).toMatchObject({ reason: 'new', process: true, lease: null })
      expect(answer.run).toMatchObject({ state: 'pending', leaseHash: null })
      expect((await subject.lease())?.run.id).toBe(answer.run?.id)
    })

    it.each([
      ['pending', { reason: 'duplicate', process: false, round: 1, attempt: 1 }],
      ['running', { reason: 'duplicate', process: false, round: 1, attempt: 1 }],
      ['expired', { reason: 'reclaimed', process: true, round: 1, attempt: 2 }],
      ['succeeded', { reason: 'duplicate', process: false, round: 1, attempt: 1 }],
      ['failed', { reason: 'retry', process: true, round: 2, attempt: 1 }],
      ['cancelled', { reason: 'retry', process: true, round: 2, attempt: 1 }],
      ['skipped', { reason: 'retry', process: true, round: 2, attempt: 1 }],
    ] as const)('a new event of a key that is %s', async (way, expected) => {
      const subject = make()
      const first = await subject.putInState('a', way)
      const before = await subject.run('a')
      const again = await subject.claim('a')
      const { reason, process, round, attempt } = expected
      expect(again).toMatchObject({ reason, process, supersededKeys: [] })
      expect(again.run).toMatchObject({ id: first.run?.id, round, attempt })
      if (process) expect(again.run).toMatchObject({ state: 'running' })
      else expect(again).toMatchObject({ lease: null, run: { state: before.state } })
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it.each(endedStates)('a webhook seen before starts nothing when its key is %s', async (way) => {
      const subject = make()
      const webhookId = unique('delivery')
      await subject.putInState('a', way, { webhookId })
      const again = await subject.claim('a', { webhookId })
      expect(again).toMatchObject({ reason: 'duplicate', process: false, run: { state: way } })
    })

    it.each(['failed', 'cancelled', 'skipped'] as const)(
      'an event older than the last one of a %s key starts nothing, an equal or newer one does',
      async (way) => {
        const subject = make()
        await subject.putInState('a', way, { eventAt: 20 })
        expect(await subject.claim('a', { eventAt: 19 })).toMatchObject({ reason: 'duplicate' })
        expect(await subject.claim('a', { eventAt: 20 })).toMatchObject({ reason: 'retry' })
      },
    )

    it('an event counts for its key also when it was answered duplicate', async () => {
      const subject = make()
      const first = await subject.claim('a', { eventAt: 20 })
      await subject.claim('a', { eventAt: 30 })
      await subject.complete(first, 'failed')
      expect(await subject.claim('a', { eventAt: 25 })).toMatchObject({ reason: 'duplicate' })
    })

    it.each([
      ['pending', 'duplicate', 1],
      ['running', 'duplicate', 1],
      ['expired', 'reclaimed', 1],
      ['succeeded', 'rerun', 2],
      ['failed', 'retry', 2],
      ['cancelled', 'retry', 2],
      ['skipped', 'retry', 2],
    ] as const)('a person asks again for a key that is %s: %s', async (way, reason, round) => {
      const subject = make()
      const webhookId = unique('delivery')
      await subject.putInState('a', way, { webhookId })
      const rerun = { rerun: true, headMaking: false, webhookId }
      expect(await subject.claim('a', rerun)).toMatchObject({ reason, run: { round } })
      expect((await subject.run('a')).rerunWanted).toBe(reason === 'duplicate')
    })

    it.each(activeStates)('a new key while another is %s', async (way) => {
      const subject = make()
      const old = await subject.putInState('a', way)
      const next = await subject.claim('b')
      if (options.onNewer === 'supersede') {
        expect(next).toMatchObject({ reason: 'superseded-prior', process: true })
        expect(next.supersededKeys).toEqual([old.runKey])
        expect(next.supersededRunIds).toEqual([old.run?.id])
        const superseded = await subject.run('a')
        expect(superseded).toMatchObject({ state: 'superseded', supersededBy: next.runKey })
        expect(superseded.outcome).toBeNull()
      } else if (options.onNewer === 'queue') {
        expect(next).toMatchObject({ reason: 'queued', process: false, lease: null })
        expect(next.run).toMatchObject({ state: 'pending', availableAt: null, dueAt: null })
      } else {
        expect(next).toMatchObject({ reason: 'busy', process: false, lease: null })
        expect(next.run).toMatchObject({ state: 'skipped', errorCode: 'busy' })
        expect(await subject.isCurrent('a')).toBe(true)
      }
    })

    it.each(endedStates)('a new key after another is %s has the reason new', async (way) => {
      const subject = make()
      await subject.putInState('a', way)
      const next = await subject.claim('b')
      expect(next).toMatchObject({ reason: 'new', process: true, supersededKeys: [] })
      expect(await subject.state('a')).toBe(way)
      expect(await subject.isCurrent('b')).toBe(true)
    })
  })

  it.each(keyStates)(
    'a key under another subject is a conflict, also when it is %s',
    async (way) => {
      const subject = new TestSubject(world(), { kind: 'job' })
      const { runKey } = await subject.putInState('a', way)
      const before = await subject.run('a')
      const elsewhere = jobClaim(runKey, unique('elsewhere'), { type: subject.type })
      await expect(world().store.runs.claim(elsewhere, null)).rejects.toMatchObject({
        code: 'key_conflict',
      })
      expect(await subject.run('a')).toEqual(before)
    },
  )

  it.each(keyStates)(
    'a job that is %s does not block a pull request with the same key',
    async (way) => {
      const { store } = world()
      const pullRequest = new TestSubject(world())
      const squatter = new TestSubject(world(), { kind: 'job' })
      const { key } = pullRequest.claimOf('a')
      const over = { key, pair: key, type: pullRequest.type, repo: squatter.repo }
      const { run: job } = await squatter.putInState('a', way, over)
      const before = await store.runs.get(job!.id)
      world().clock.move(second)
      const own = await pullRequest.claim('a')
      expect(own).toMatchObject({ reason: 'new', process: true, run: { key, pr: 5 } })
      expect(await pullRequest.claim('a')).toMatchObject({ reason: 'duplicate' })
      expect(await store.runs.get(job!.id)).toEqual(before)
      const inRepo = await store.runs.list(
        { key, repo: pullRequest.repo },
        { limit: 9, cursor: null },
      )
      expect(inRepo.items.map(({ id }) => id)).toEqual([own.run!.id])
      // A filter by key alone finds both, the pull request's run first.
      const both = await store.runs.list({ key }, { limit: 9, cursor: null })
      expect(both.items.map(({ id }) => id)).toEqual([own.run!.id, job!.id])
    },
  )

  it('a job cannot use the key of a pull request, whatever its repository is', async () => {
    const pullRequest = new TestSubject(world())
    const { runKey } = await pullRequest.claim('a')
    for (const repo of [null, pullRequest.repo, unique('acme/other')]) {
      const job = jobClaim(runKey, unique('elsewhere'), { type: pullRequest.type, repo })
      const claimed = world().store.runs.claim(job, null)
      await expect(claimed).rejects.toMatchObject({ code: 'key_conflict' })
    }
  })

  it('one key may belong to two types', async () => {
    const subject = new TestSubject(world(), { kind: 'job' })
    const { runKey } = await subject.claim('a')
    const other = jobClaim(runKey, unique('elsewhere'), { type: unique('type') })
    expect(await world().store.runs.claim(other, null)).toMatchObject({ reason: 'new' })
  })

  it('the same head with another base is a new key', async () => {
    const subject = new TestSubject(world())
    const first = await subject.claim('a', { eventAt: 1 })
    const pair = 'base-other:head-a'
    const rebased = { pair, key: `${subject.repo}:${pair}`, eventAt: 2 }
    const next = await subject.claim('a', rebased)
    expect(next).toMatchObject({ reason: 'superseded-prior', supersededKeys: [first.runKey] })
  })

  it('a key that was skipped because another was busy is tried by its next event', async () => {
    const subject = new TestSubject(world(), { kind: 'job', onNewer: 'skip' })
    const first = await subject.claim('a')
    await subject.claim('b')
    await subject.complete(first)
    expect(await subject.claim('b')).toMatchObject({ reason: 'retry', run: { round: 2 } })
  })

  it('a claim that must not queue is skipped behind another run, and tried later', async () => {
    for (const kind of ['job', 'pull request'] as const) {
      const subject = new TestSubject(world(), { kind, onNewer: 'queue' })
      const first = await subject.claim('a')
      for (const name of ['b', 'b', 'c']) {
        const busy = await subject.claim(name, { mayQueue: false })
        expect(busy).toMatchObject({ reason: 'busy', process: false, run: { state: 'skipped' } })
      }
      expect(await subject.isCurrent('a')).toBe(true)
      expect(await subject.claim('b')).toMatchObject({ reason: 'queued', run: { round: 2 } })
      await subject.complete(first)
      const lease = await subject.lease()
      expect(lease).toMatchObject({ run: { key: subject.claimOf('b').key } })
      await subject.complete(lease!)
      const last = await subject.claim('c', { mayQueue: false })
      expect(last).toMatchObject({ reason: 'retry', run: { state: 'running', round: 2 } })
    }
  })

  it('a claim that must not queue changes nothing about a run that is already queued', async () => {
    const subject = new TestSubject(world(), { kind: 'job' })
    const first = await subject.claim('a')
    await subject.claim('b', { lease: null })
    const again = await subject.claim('b', { mayQueue: false })
    expect(again).toMatchObject({ reason: 'duplicate', run: { state: 'pending', round: 1 } })
    await subject.complete(first)
    expect(await subject.lease()).toMatchObject({ run: { key: subject.claimOf('b').key } })
  })

  it('a claim that must not queue still supersedes', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a')
    const next = await subject.claim('b', { mayQueue: false })
    expect(next).toMatchObject({ reason: 'superseded-prior', process: true })
  })

  it('every skipped claim says so in the audit', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a', { eventAt: 5 })
    await subject.claim('a', { eventAt: 5, webhookId: 'again' })
    await subject.claim('b', { eventAt: 4 })
    const skipped = (await subject.audits('a')).filter(({ type }) => type === 'run.claim_skipped')
    expect(skipped.map(({ data }) => data['reason'])).toEqual(['duplicate'])
    expect(skipped[0]?.data['webhook_id']).toBe('again')
    expect((await subject.audits('b')).map(({ type }) => type)).toEqual(['run.skipped'])
  })
}
