/**
 * Goal: a purge removes what is past its retention, and nothing else: no active run, no subject
 * within a year, and no knowledge of which key is current.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Run } from '../../../src/domain/run.ts'
import { purgeAll, purgeLimits } from '../../../src/runs/purge.ts'
import { unique } from '../claims.ts'
import { activeStates, endedStates, TestSubject } from '../test-subject.ts'
import { decided, received } from '../inbox/webhooks.ts'
import { day, openWorld, type OpenStore, type World } from '../world.ts'

const limits = purgeLimits({ finishedDays: 30, supersededDays: 7, inboxDays: 7, auditDays: 90 })

export function purging(open: OpenStore): void {
  let world: World
  beforeEach(async () => {
    world = await openWorld(open)
  })
  afterEach(() => world.close())

  const make = () => new TestSubject(world)
  const purge = () => purgeAll(world.store, limits, 'purge')

  it.each(endedStates)('a run that has %s is removed after 30 days and not before', async (way) => {
    const { run } = await make().putInState('a', way)
    world.clock.move(30 * day)
    expect(await purge()).toBe(0)
    world.clock.move(1)
    expect(await purge()).toBe(1)
    expect(await world.store.runs.get(run!.id)).toBeNull()
  })

  it('a superseded run is removed after 7 days and not before', async () => {
    const subject = make()
    const { run } = await subject.claim('a', { eventAt: 1 })
    await subject.claim('b', { eventAt: 2 })
    world.clock.move(7 * day)
    expect(await purge()).toBe(0)
    world.clock.move(1)
    expect(await purge()).toBe(1)
    expect(await world.store.runs.get(run!.id)).toBeNull()
    expect(await subject.state('b')).toBe('running')
  })

  it.each(activeStates)('a run that is %s is never removed', async (way) => {
    const { run } = await make().putInState('a', way)
    world.clock.move(1000 * day)
    expect(await purge()).toBe(0)
    expect(await world.store.runs.get(run!.id)).not.toBeNull()
  })

  it('the retention of a run that was rerun counts from its last end', async () => {
    const subject = make()
    await subject.putInState('a', 'failed')
    world.clock.move(29 * day)
    await subject.complete(await subject.claim('a'))
    world.clock.move(29 * day)
    expect(await purge()).toBe(0)
  })

  it('the count is of runs alone, although webhooks, keys and audit rows go too', async () => {
    const subject = make()
    await subject.putInState('a', 'succeeded', { webhookId: 'w1' })
    const token = { scope: 'read', name: null, userId: null, secret: 's', actor: 'admin' }
    await world.store.tokens.create(token, {
      keyHash: unique('key'),
      bodyHash: 'body',
      seal: (text) => text,
      open: (text) => text,
    })
    world.clock.move(100 * day)
    expect(await purge()).toBe(1)
    expect(await purge()).toBe(0)
  })

  it('every removed run leaves an audit row, and old audit rows go after 90 days', async () => {
    const { run } = await make().putInState('a', 'succeeded')
    const audits = async () =>
      (await world.store.audit.list({ runId: run!.id }, { limit: 100, cursor: null })).items
    world.clock.move(31 * day)
    await purge()
    expect((await audits())[0]).toMatchObject({
      type: 'run.purged',
      actor: 'purge',
      data: { key: run!.key, state: 'succeeded' },
    })
    world.clock.move(60 * day)
    await purge()
    expect((await audits()).map(({ type }) => type)).toEqual(['run.purged'])
    world.clock.move(31 * day)
    await purge()
    expect(await audits()).toEqual([])
  })

  it('a webhook is forgotten after its retention, and counts as new again', async () => {
    const subject = make()
    await subject.putInState('a', 'failed', { webhookId: 'w1' })
    world.clock.move(7 * day)
    await purge()
    expect(await subject.claim('a', { webhookId: 'w1' })).toMatchObject({ reason: 'duplicate' })
    world.clock.move(7 * day + 1)
    await purge()
    expect(await subject.claim('a', { webhookId: 'w1' })).toMatchObject({ reason: 'retry' })
  })

  it('a purged key that is still current is still a duplicate', async () => {
    const subject = make()
    const { runKey } = await subject.putInState('a', 'succeeded', { eventAt: 5 })
    world.clock.move(31 * day)
    await purge()
    const again = await subject.claim('a', { eventAt: 6 })
    const nothing = { process: false, run: null, lease: null, supersededKeys: [] }
    expect(again).toMatchObject({ reason: 'duplicate', runKey, ...nothing })
    expect(await subject.claim('b', { eventAt: 5 })).toMatchObject({ reason: 'stale-event' })
  })

  it.each(['failed', 'cancelled', 'skipped'] as const)(
    'a purged current key that was %s is worked on again by a new event, and by no other',
    async (way) => {
      const subject = make()
      await subject.putInState('a', way, { eventAt: 5, webhookId: unique('w') })
      world.clock.move(31 * day)
      await purge()
      await expect(subject.run('a')).rejects.toThrow()
      const nothing = { reason: 'duplicate', process: false, run: null }
      expect(await subject.claim('a', { eventAt: 4 })).toMatchObject(nothing)
      expect(await subject.claim('a', { eventAt: 6, headMaking: false })).toMatchObject(nothing)
      const reopened = await subject.claim('a', { eventAt: 6, webhookId: unique('w') })
      expect(reopened).toMatchObject({ reason: 'retry', process: true, run: { state: 'running' } })
      await subject.complete(reopened)
      world.clock.move(31 * day)
      await purge()
      expect(await subject.claim('a', { eventAt: 7 })).toMatchObject(nothing)
    },
  )

  it('a job that failed can start again, although its run was purged', async () => {
    const subject = new TestSubject(world, { kind: 'job' })
    await subject.putInState('a', 'failed')
    world.clock.move(31 * day)
    await purge()
    expect(await subject.claim('a')).toMatchObject({ reason: 'retry', process: true })
  })

  it('a success that was run again and failed counts as failed when it is purged', async () => {
    const subject = make()
    await subject.putInState('a', 'succeeded', { eventAt: 5 })
    await subject.complete(await subject.claim('a', { rerun: true, headMaking: false }), 'failed')
    world.clock.move(31 * day)
    await purge()
    expect(await subject.claim('a', { eventAt: 6 })).toMatchObject({ reason: 'retry' })
  })

  it('a closed pull request is remembered as the end of a run that queued', async () => {
    const subject = new TestSubject(world, { onNewer: 'queue' })
    await subject.claim('a', { eventAt: 1, lease: null })
    await subject.claim('b', { eventAt: 2, lease: null })
    const entry = await received(world.store, { eventAt: 9, prState: 'closed' })
    const { type, repo } = subject
    await world.store.inbox.finish(decided(entry, { act: 'cancel', type, repo, pr: 5 }))
    expect((await subject.subject()).currentEnded).toBe('closed')
  })

  it('a reopening that only catch-up has seen starts a purged key again, once', async () => {
    const subject = make()
    await subject.putInState('a', 'cancelled', { eventAt: 5, webhookId: unique('w') })
    world.clock.move(31 * day)
    await purge()
    const seen = { action: 'reopened', headMaking: false, headFromGitHub: true }
    const nothing = { reason: 'duplicate', process: false, run: null }
    expect(await subject.claim('a', { ...seen, eventAt: 4 })).toMatchObject(nothing)
    const webhookId = unique('w')
    const reopened = await subject.claim('a', { ...seen, eventAt: 6, webhookId })
    expect(reopened).toMatchObject({ reason: 'retry', process: true, run: { state: 'running' } })
    expect(await subject.claim('a', { ...seen, eventAt: 6, webhookId })).toMatchObject({
      ...{ reason: 'duplicate', process: false },
    })
  })

  it('a person may request a rerun of a purged current key', async () => {
    const subject = make()
    await subject.putInState('a', 'succeeded', { eventAt: 5 })
    world.clock.move(31 * day)
    await purge()
    const again = await subject.claim('a', { rerun: true, headMaking: false })
    expect(again).toMatchObject({ reason: 'rerun', process: true, run: { state: 'running' } })
    expect((await subject.subject()).headAt).toBe(5)
  })

  const again = { rerun: true, headMaking: false } as const

  it('a purged key begins again with the round after its last', async () => {
    const subject = make()
    await subject.putInState('a', 'succeeded', { eventAt: 5 })
    await subject.complete(await subject.claim('a', again))
    for (const round of [3, 4]) {
      world.clock.move(31 * day)
      await purge()
      const begun = await subject.claim('a', again)
      expect(begun.run).toMatchObject({ round, attempt: 1 })
      await subject.complete(begun)
    }
    expect((await subject.claim('a', again)).run).toMatchObject({ round: 5 })
  })

  it('a purged key that failed is retried in its next round', async () => {
    const subject = make()
    await subject.putInState('a', 'failed', { eventAt: 5 })
    world.clock.move(31 * day)
    await purge()
    expect((await subject.claim('a', { eventAt: 6 })).run).toMatchObject({ round: 2 })
  })

  it('a late event of a purged key says in the audit which round it was stored as', async () => {
    const subject = make()
    await subject.claim('a', { eventAt: 5 })
    await subject.claim('b', { eventAt: 6 })
    world.clock.move(8 * day)
    await purge()
    const late = await subject.claim('a', { eventAt: 4 })
    expect(late).toMatchObject({ reason: 'stale-event', run: { round: 2 } })
    const [skipped] = await subject.audits('a')
    expect(skipped).toMatchObject({
      type: 'run.skipped',
      data: { reason: 'stale-event', round: 2 },
    })
  })

  it('a head that comes back after its superseded run was purged has a new round', async () => {
    const subject = make()
    await subject.claim('a', { eventAt: 5 })
    await subject.claim('b', { eventAt: 6 })
    world.clock.move(8 * day)
    await purge()
    const back = await subject.claim('a', { eventAt: 7 })
    expect(back).toMatchObject({ reason: 'superseded-prior', run: { round: 2 } })
    expect((await subject.claim('c', { eventAt: 8 })).run).toMatchObject({ round: 1 })
  })

  it.each([
    ['a purged key outlive', 31],
    ['a run that is merged into another do not return after', 0],
  ])('the rounds of %s the merge of two rows of its repository', async (_name, days) => {
    const subject = make()
    const other = unique('acme/other')
    const there = { repo: other, key: unique('key') }
    await subject.putInState('a', 'succeeded', { eventAt: 5 })
    await subject.putInState('a', 'failed', { ...there, eventAt: 5 })
    await subject.complete(await subject.claim('a', { ...again, ...there }), 'failed')
    world.clock.move(days * day)
    expect(await purge()).toBe(days === 0 ? 0 : 2)
    const githubId = 790_000 + (world.store.now() % 10_000)
    await world.store.repositories.learn(subject.repo, githubId, 'now', 'test')
    await world.store.repositories.learn(other, githubId, 'now', 'test')
    expect((await subject.claim('a', again)).run).toMatchObject({ round: 3 })
  })

  it('a requested rerun reuses no round of a run that was merged into it', async () => {
    const subject = make()
    const other = unique('acme/other')
    const there = { repo: other, key: unique('key') }
    const held = await subject.claim('a', { eventAt: 5 })
    await subject.putInState('a', 'failed', { ...there, eventAt: 5 })
    await subject.complete(await subject.claim('a', { ...again, ...there }), 'failed')
    const githubId = 790_000 + (world.store.now() % 10_000)
    await world.store.repositories.learn(subject.repo, githubId, 'now', 'test')
    await world.store.repositories.learn(other, githubId, 'now', 'test')
    await world.store.runs.rerun(held.run!.id, 'person', null)
    await subject.complete(held)
    const next = await world.store.runs.get(held.run!.id)
    expect(next).toMatchObject({ state: 'pending', round: 3 })
  })

  it('an output of a purged run does not count as one of its next round', async () => {
    const subject = make()
    const { outbox } = world.store
    const publish = async ({ run }: { readonly run: Run | null }, body: string) => {
      const { id: runId, leaseHash } = run!
      const channel = 'github-comment'
      const content = { form: 'text', body }
      const request = { runId, leaseHash, name: 'note', channel, content, actor: 'test' } as const
      return (await outbox.publish({ ...request, rightsOf: () => allRights }, null)).delivery
    }
    const first = await subject.claim('a', { eventAt: 5 })
    const old = await publish(first, 'The first note.')
    await outbox.skip(old.id, 'test', 'test', null)
    await subject.complete(first)
    world.clock.move(31 * day)
    await purge()
    expect(await outbox.delivery(old.id)).toBeNull()
    const note = await publish(await subject.claim('a', again), 'The second note.')
    expect(note.markerKey).not.toBe(old.markerKey)
  })

  it('the last finished head outlives its run', async () => {
    const subject = make()
    const { run } = await subject.putInState('a', 'succeeded', { eventAt: 5 })
    world.clock.move(31 * day)
    await purge()
    expect((await subject.claim('b', { eventAt: 6 })).run).toMatchObject({
      previousRunId: run?.id,
      previousVerdict: 'success',
    })
  })

  it('a subject is kept for a year after its last claim, then its key is new', async () => {
    const subject = make()
    const { run } = await subject.putInState('a', 'succeeded', { eventAt: 5 })
    world.clock.move(200 * day)
    await purge()
    await subject.claim('a')
    world.clock.move(365 * day)
    await purge()
    expect(await world.store.runs.subject(run!.subjectId)).not.toBeNull()
    world.clock.move(1)
    await purge()
    expect(await world.store.runs.subject(run!.subjectId)).toBeNull()
    expect(await subject.claim('a')).toMatchObject({ reason: 'new' })
  })

  it('a subject with an active run is kept, however old', async () => {
    const subject = make()
    const { run } = await subject.claim('a')
    world.clock.move(800 * day)
    await purge()
    expect(await world.store.runs.subject(run!.subjectId)).not.toBeNull()
  })

  it('an identity that wrote nothing for 30 days is forgotten, unless it is blocked', async () => {
    const { outbox } = world.store
    const now = world.store.now()
    await outbox.blockIdentity('id:1', now + day, 'limit', 'publisher')
    await outbox.blockIdentity('id:2', now + 60 * day, 'limit', 'publisher')
    const identities = async () => (await outbox.budgets()).map(({ identity }) => identity)
    world.clock.move(30 * day)
    await purge()
    expect(await identities()).toEqual(['id:1', 'id:2'])
    world.clock.move(1)
    await purge()
    expect(await identities()).toEqual(['id:2'])
  })

  it('more than one batch is purged to the end', async () => {
    const subjects = Array.from({ length: 520 }, () => make())
    await Promise.all(subjects.map((subject) => subject.putInState('a', 'skipped')))
    world.clock.move(31 * day)
    expect(await world.store.upkeep.purge(limits, 'purge')).toEqual({ runs: 500, more: true })
    expect(await purge()).toBe(20)
  })
}
