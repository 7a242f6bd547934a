/**
 * Goal: a decision about a webhook is applied once, in the commit that finishes the entry, in order
 * within each lane, and has its audit row.
 */
import { describe, expect, it } from 'vitest'
import { unique } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { claiming, decided, noting, received, auditTypesOf } from './webhooks.ts'
import { useWorld, type OpenStore } from '../world.ts'

export function inboxDecisions(open: OpenStore): void {
  describe('about any event', () => settling(open))
  describe('about a comment older than the head', () => refusing(open))
  describe('about a pull request that was closed', () => closing(open))
}

function settling(open: OpenStore): void {
  const world = useWorld(open)
  const settle = (...[entry, ...acts]: Parameters<typeof decided>) =>
    world().store.inbox.finish(decided(entry, ...acts))

  it('creates the run and finishes the entry in one commit', async () => {
    const subject = new TestSubject(world())
    const entry = await received(world().store)
    const answer = await settle(entry, claiming(subject.claimOf('a')))
    const run = await subject.run('a')
    expect(answer).toMatchObject({ result: 'finished', claims: [{ reason: 'new', process: true }] })
    expect(answer.entry).toMatchObject({
      state: 'processed',
      decision: 'accepted',
      reason: null,
      dueAt: null,
      outcomes: [{ type: subject.type, result: 'claimed', reason: 'new', runIds: [run.id] }],
    })
    expect(await world().store.inbox.get(entry.id)).toEqual(answer.entry)
    expect(await auditTypesOf(world(), entry)).toEqual(['webhook.received', 'webhook.processed'])
  })

  it('is applied once, however often the entry is finished', async () => {
    const subject = new TestSubject(world())
    const entry = await received(world().store)
    const act = claiming(subject.claimOf('a'))
    const answers = await Promise.all(Array.from({ length: 10 }, () => settle(entry, act)))
    const results = answers.map(({ result }) => result).toSorted()
    expect(results).toEqual([...Array.from({ length: 9 }, () => 'elsewhere'), 'finished'])
    expect((await settle(entry, act)).result).toBe('elsewhere')
    expect((await subject.audits('a')).map(({ type }) => type)).toEqual(['run.claimed'])
    expect(await auditTypesOf(world(), entry)).toEqual(['webhook.received', 'webhook.processed'])
  })

  it('may differ for each run type', async () => {
    const [one, two] = [new TestSubject(world()), new TestSubject(world())]
    await two.claim('old', { eventAt: 1 })
    const entry = await received(world().store)
    const answer = await settle(
      entry,
      claiming(one.claimOf('a')),
      { act: 'cancel', type: two.type, repo: two.repo, pr: 5 },
      noting('third', 'ignored', 'draft'),
    )
    expect(answer.entry?.outcomes.map(({ type, result }) => [type, result])).toEqual([
      [one.type, 'claimed'],
      [two.type, 'cancelled'],
      ['third', 'ignored'],
    ])
    expect(answer).toMatchObject({ entry: { decision: 'accepted' }, cancelled: [{}] })
    expect([await one.state('a'), await two.state('old')]).toEqual(['pending', 'cancelled'])
  })

  it('may be two claims of one subject, decided one after the other', async () => {
    const subject = new TestSubject(world())
    const entry = await received(world().store)
    const acts = [claiming(subject.claimOf('a')), claiming(subject.claimOf('b'))]
    const { claims } = await settle(entry, ...acts)
    expect(claims.map(({ reason }) => reason)).toEqual(['new', 'superseded-prior'])
  })

  it('is reported as skipped when a rule said no, and the head still changes', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a', { eventAt: 1 })
    const entry = await received(world().store)
    const claim = subject.claimOf('b', { eventAt: 2, skipReason: 'bot author' })
    const { entry: after } = await settle(entry, claiming(claim))
    expect(after).toMatchObject({
      decision: 'ignored',
      reason: 'bot author',
      outcomes: [{ result: 'skipped', runIds: [(await subject.run('b')).id] }],
    })
    expect([await subject.state('a'), await subject.state('b')]).toEqual(['superseded', 'skipped'])
    expect(await auditTypesOf(world(), entry)).toEqual(['webhook.received', 'webhook.ignored'])
  })

  it('is reported as failed when a rule threw, and the other types are decided', async () => {
    const subject = new TestSubject(world())
    const entry = await received(world().store)
    const broken = noting('broken', 'failed', 'when-failed')
    const { entry: after } = await settle(entry, broken, claiming(subject.claimOf('a')))
    expect(after).toMatchObject({ state: 'failed', decision: 'accepted', reason: 'when-failed' })
    expect(await subject.state('a')).toBe('pending')
    expect(await auditTypesOf(world(), entry)).toEqual(['webhook.received', 'webhook.failed'])
  })

  it('has a reason when no type wants the event', async () => {
    const { entry } = await settle(await received(world().store))
    expect(entry).toMatchObject({ state: 'processed', decision: 'ignored', reason: 'nobody' })
  })

  it('that the current state refuses is an outcome, not an error', async () => {
    const subject = new TestSubject(world())
    await subject.putInState('a', 'succeeded', { eventAt: 1 })
    await subject.claim('b', { eventAt: 2 })
    const entry = await received(world().store)
    const rerun = subject.claimOf('a', { rerun: true, headMaking: false })
    const answer = await settle(entry, claiming(rerun))
    expect(answer).toMatchObject({ result: 'finished', claims: [] })
    const [outcome] = answer.entry?.outcomes ?? []
    expect(outcome).toMatchObject({ result: 'ignored', reason: 'not-current', runIds: [] })
    expect(outcome?.detail).toMatch(/current/)
  })

  it('waits for the earlier ones of its lane', async () => {
    const subject = new TestSubject(world())
    const lane = unique('lane')
    const [first, second] = [
      await received(world().store, { lane }),
      await received(world().store, { lane }),
    ]
    const early = await settle(second, claiming(subject.claimOf('b')))
    expect(early).toEqual({ result: 'behind', entry: null, claims: [], cancelled: [] })
    expect(await world().store.inbox.get(second.id)).toEqual(second)
    await settle(first, claiming(subject.claimOf('a')))
    await settle(second, claiming(subject.claimOf('b')))
    expect([await subject.state('a'), await subject.state('b')]).toEqual(['superseded', 'pending'])
  })

  it('is applied for many lanes at once, also where one is refused', async () => {
    const subjects = Array.from({ length: 30 }, () => new TestSubject(world()))
    const entries = await Promise.all(subjects.map(() => received(world().store)))
    const taken = new TestSubject(world())
    await taken.putInState('a', 'succeeded', { eventAt: 1 })
    await taken.claim('b', { eventAt: 2 })
    const odd = await received(world().store)
    const refused = claiming(taken.claimOf('a', { rerun: true, headMaking: false }))
    const answers = await Promise.all([
      ...subjects.map((subject, n) => settle(entries[n]!, claiming(subject.claimOf('a')))),
      settle(odd, refused),
    ])
    expect(answers.every(({ result }) => result === 'finished')).toBe(true)
    for (const subject of subjects) expect(await subject.state('a')).toBe('pending')
    expect(answers.at(-1)?.entry?.reason).toBe('not-current')
  })
}

function refusing(open: OpenStore): void {
  const world = useWorld(open)
  const comment = { id: 77, writtenAt: 10_000, author: 'mona' }
  const refuse = async (subject: TestSubject, head: string, eventAt = 10_000) => {
    const entry = await received(world().store, { event: 'issue_comment', repoId: null })
    const claim = { ...subject.claimOf(head, { headMaking: false, eventAt }), lease: null }
    return await world().store.inbox.finish(decided(entry, { act: 'refuse', claim, comment }))
  }
  const messagesOn = async (subject: TestSubject) => {
    const { subjectId } = await subject.run('a')
    const { items } = await world().store.outbox.list({}, { limit: 1000, cursor: null })
    return items.filter((item) => item.subjectId === subjectId)
  }

  it('stores a skipped run and one message on the thread', async () => {
    const subject = new TestSubject(world())
    const { entry, claims } = await refuse(subject, 'a')
    const run = await subject.run('a')
    expect(claims).toEqual([])
    expect(entry).toMatchObject({
      ...{ state: 'processed', decision: 'ignored', reason: 'head-newer-than-comment' },
      outcomes: [{ result: 'ignored', reason: 'head-newer-than-comment', runIds: [run.id] }],
    })
    expect(run).toMatchObject({ state: 'skipped', errorCode: 'head-newer-than-comment' })
    await refuse(subject, 'a')
    const messages = await messagesOn(subject)
    expect(messages).toMatchObject([
      { kind: 'message', channel: 'github-comment', thread: 5, status: 'PENDING', runId: run.id },
    ])
  })

  it('writes one message also when two names become one repository in between', async () => {
    const subject = new TestSubject(world())
    await refuse(subject, 'a')
    const githubId = 790_000 + (world().store.now() % 10_000)
    await world().store.repositories.learn(unique('acme/kept'), githubId, 'now', 'test')
    await world().store.repositories.learn(subject.repo, githubId, 'now', 'test')
    await refuse(subject, 'a')
    expect(await messagesOn(subject)).toHaveLength(1)
  })

  it('leaves the head at work; a push of the refused head starts it', async () => {
    const subject = new TestSubject(world())
    await subject.claim('old', { eventAt: 1 })
    await refuse(subject, 'a')
    expect(await subject.state('old')).toBe('running')
    const pushed = await subject.claim('a', { eventAt: 9 })
    expect(pushed).toMatchObject({ reason: 'retry', process: true })
  })

  it('leaves an existing run unchanged', async () => {
    const subject = new TestSubject(world())
    await subject.putInState('a', 'failed', { eventAt: 1 })
    const before = await subject.run('a')
    await refuse(subject, 'a')
    expect(await subject.run('a')).toEqual(before)
    expect(await messagesOn(subject)).toHaveLength(1)
  })
}

function closing(open: OpenStore): void {
  const world = useWorld(open)
  const cancel = ({ type, repo }: TestSubject) => ({ act: 'cancel', type, repo, pr: 5 }) as const
  const settle = (...[entry, ...acts]: Parameters<typeof decided>) =>
    world().store.inbox.finish(decided(entry, ...acts))

  it('cancels its active runs, also queued ones', async () => {
    const subject = new TestSubject(world(), { onNewer: 'queue' })
    for (const [at, head] of ['a', 'b', 'c'].entries()) await subject.claim(head, { eventAt: at })
    const entry = await received(world().store, { eventAt: 9, prState: 'closed' })
    const { cancelled, entry: after } = await settle(entry, cancel(subject))
    expect(cancelled).toHaveLength(3)
    expect(after?.outcomes).toMatchObject([{ result: 'cancelled', reason: 'pull-request-closed' }])
    for (const head of ['a', 'b', 'c']) {
      expect(await subject.run(head)).toMatchObject({
        state: 'cancelled',
        errorCode: 'pull_request_closed',
      })
    }
    const [row] = (await subject.audits('a')).filter(({ type }) => type === 'run.cancelled')
    expect(row).toMatchObject({ actor: 'github:mona', data: { webhook_id: entry.webhookId } })
  })

  it('cancels the run that a worker leased after others queued, and those', async () => {
    const subject = new TestSubject(world(), { onNewer: 'queue' })
    for (const [at, head] of ['a', 'b', 'c'].entries()) {
      await subject.claim(head, { eventAt: at, lease: null })
    }
    const leased = await subject.lease()
    expect(leased?.run.fence).toBeGreaterThan((await subject.run('c')).fence)
    const entry = await received(world().store, { eventAt: 9, prState: 'closed' })
    const { cancelled } = await settle(entry, cancel(subject))
    expect(cancelled).toHaveLength(3)
    for (const head of ['a', 'b', 'c']) expect(await subject.state(head)).toBe('cancelled')
  })

  it('lets the next of a queue begin when only that one is of a later event', async () => {
    const subject = new TestSubject(world(), { onNewer: 'queue' })
    await subject.claim('a', { eventAt: 1, lease: null })
    await subject.claim('b', { eventAt: 2, lease: null })
    await subject.claim('c', { eventAt: 20_000, lease: null })
    await subject.lease()
    const entry = await received(world().store, { eventAt: 9, prState: 'closed' })
    expect((await settle(entry, cancel(subject))).cancelled).toHaveLength(2)
    expect([await subject.state('a'), await subject.state('b')]).toEqual(['cancelled', 'cancelled'])
    expect((await subject.lease())?.run.id).toBe((await subject.run('c')).id)
  })

  it('keeps a run of a later event', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a', { eventAt: 20_000 })
    const entry = await received(world().store, { eventAt: 10_000, prState: 'closed' })
    const { entry: after } = await settle(entry, cancel(subject))
    expect(after).toMatchObject({ decision: 'ignored', reason: 'nothing-to-cancel' })
    expect(await subject.state('a')).toBe('running')
  })

  it('asks GitHub when a run is later by no more than clocks may differ', async () => {
    const subject = new TestSubject(world())
    await subject.claim('a', { eventAt: 14_000 })
    const entry = await received(world().store, { eventAt: 10_000, prState: 'closed' })
    expect(await settle(entry, cancel(subject))).toMatchObject({ result: 'look', cancelled: [] })
    expect(await subject.state('a')).toBe('running')
    expect(await world().store.inbox.get(entry.id)).toMatchObject({ state: 'waiting' })
    const looked = { ...decided(entry, cancel(subject)), looked: true }
    expect((await world().store.inbox.finish(looked)).cancelled).toHaveLength(1)
    expect(await subject.state('a')).toBe('cancelled')
  })

  it('needs nothing when no run was active', async () => {
    const entry = await received(world().store, { prState: 'closed' })
    const { entry: after } = await settle(entry, cancel(new TestSubject(world())))
    expect(after).toMatchObject({ state: 'processed', reason: 'nothing-to-cancel' })
  })

  it('starts nothing for an earlier event that came or is processed late', async () => {
    const subject = new TestSubject(world())
    const lane = unique('lane')
    const late = await received(world().store, { lane, eventAt: 1, prState: 'open' })
    const closed = await received(world().store, { lane, eventAt: 2, prState: 'closed' })
    const { entry } = await settle(late, claiming(subject.claimOf('a', { eventAt: 1 })))
    expect(entry).toMatchObject({ decision: 'ignored', reason: 'closed-since' })
    await settle(closed, cancel(subject))
    const later = await received(world().store, { lane, eventAt: 1, prState: 'open' })
    const again = await settle(later, claiming(subject.claimOf('b', { eventAt: 1 })))
    expect(again.entry?.reason).toBe('closed-since')
    await expect(subject.run('a')).rejects.toThrow()
  })

  it('starts a run for a type that works on closed pull requests', async () => {
    const subject = new TestSubject(world())
    const lane = unique('lane')
    const open = await received(world().store, { lane, eventAt: 1, prState: 'open' })
    await received(world().store, { lane, eventAt: 2, prState: 'closed' })
    const { entry } = await settle(open, claiming(subject.claimOf('a', { eventAt: 1 }), false))
    expect(entry?.decision).toBe('accepted')
  })

  it('keeps the runs when it was reopened meanwhile', async () => {
    const subject = new TestSubject(world())
    const lane = unique('lane')
    await subject.claim('a', { eventAt: 1 })
    const closed = await received(world().store, { lane, eventAt: 2, prState: 'closed' })
    await received(world().store, { lane, eventAt: 3, prState: 'open' })
    const { entry } = await settle(closed, cancel(subject))
    expect(entry).toMatchObject({ decision: 'ignored', reason: 'reopened-since' })
    expect(await subject.state('a')).toBe('running')
  })

  it('waits for GitHub’s answer when it was reopened within one second', async () => {
    const subject = new TestSubject(world())
    const lane = unique('lane')
    await subject.claim('a', { eventAt: 1 })
    const closed = await received(world().store, { lane, eventAt: 2, prState: 'closed' })
    const opened = await received(world().store, { lane, eventAt: 2, prState: 'open' })
    expect((await settle(closed, cancel(subject))).result).toBe('look')
    expect(await subject.state('a')).toBe('running')
    const looked = { ...decided(closed, cancel(subject)), looked: true }
    expect((await world().store.inbox.finish(looked)).cancelled).toHaveLength(1)
    const claim = claiming(subject.claimOf('a', { eventAt: 2 }))
    expect((await settle(opened, claim)).result).toBe('look')
    const noted = noting(subject.type, 'ignored', 'closed-since')
    expect((await settle(opened, noted)).result).toBe('finished')
  })

  it('asks GitHub first when its event came earlier, with others in between', async () => {
    const subject = new TestSubject(world())
    const [lane, eventKey] = [unique('lane'), unique('event')]
    await subject.claim('a', { eventAt: 1 })
    for (const key of [eventKey, unique('event')]) {
      await settle(await received(world().store, { lane, eventKey: key, eventAt: 2 }))
    }
    const again = await received(world().store, { lane, eventKey, eventAt: 2 })
    expect((await settle(again, cancel(subject))).result).toBe('look')
    const looked = { ...decided(again, cancel(subject)), looked: true }
    expect((await world().store.inbox.finish(looked)).result).toBe('finished')
    expect(await subject.state('a')).toBe('cancelled')
  })

  it('finds the pull request under the current name of the repository', async () => {
    const subject = new TestSubject(world())
    const id = 800_000_000 + (world().store.now() % 1_000_000)
    await world().store.repositories.learn(subject.repo, id, 'now', 'test')
    await subject.claim('a', { eventAt: 1 })
    const renamed = unique('acme/renamed')
    await world().store.repositories.learn(renamed, id, 'now', 'test')
    const entry = await received(world().store, { eventAt: 2, prState: 'closed' })
    await settle(entry, { act: 'cancel', type: subject.type, repo: renamed, pr: 5 })
    expect(await subject.state('a')).toBe('cancelled')
  })
}
