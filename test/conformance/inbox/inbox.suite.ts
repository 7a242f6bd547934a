/**
 * Goal: a webhook is stored once, every arrival has its audit row, and what waits is found, in
 * order, until it is processed.
 */
import { describe, expect, it } from 'vitest'
import { unpackBody } from '../../../src/intake/events/payload.ts'
import { purgeAll, purgeLimits } from '../../../src/runs/purge.ts'
import { pullRequestClaim, unique } from '../claims.ts'
import { onceOf } from '../runs/idempotency.suite.ts'
import { TestSubject } from '../test-subject.ts'
import { allDue, claiming, decided, newWebhook, received, auditTypesOf } from './webhooks.ts'
import { day, minute, second, useWorld, type OpenStore } from '../world.ts'

const page = { limit: 1000, cursor: null }

export function inbox(open: OpenStore): void {
  describe('a webhook that arrives', () => arriving(open))
  describe('a webhook that waits', () => waiting(open))
}

function arriving(open: OpenStore): void {
  const world = useWorld(open)

  it('is stored with its bytes and headers before it is answered', async () => {
    const webhook = newWebhook({ eventAt: 7, prState: 'open' })
    const { arrived, entry, storedId } = await world().store.inbox.receive(webhook)
    expect([arrived, storedId]).toEqual(['new', entry.id])
    const { body: _body, waits: _waits, eventKey: _key, head: _head, ...fields } = webhook
    expect(entry).toMatchObject({ ...fields, state: 'waiting', tries: 0, processedAt: null })
    expect(await world().store.inbox.get(entry.id)).toEqual(entry)
    expect(await world().store.inbox.get(webhook.webhookId)).toEqual(entry)
    const stored = await world().store.inbox.body(entry.arrival)
    expect(stored?.headers).toBe('{}')
    expect(unpackBody(stored!.body)).toEqual(unpackBody(webhook.body.body))
    expect(await auditTypesOf(world(), entry)).toEqual(['webhook.received'])
  })

  it('and that no type listens to is finished at once, with its reason', async () => {
    const door = { decision: 'ignored', reason: 'no-trigger', waits: false } as const
    const entry = await received(world().store, door)
    expect(entry).toMatchObject({ ...{ decision: 'ignored', reason: 'no-trigger' }, dueAt: null })
    expect([entry.state, entry.processedAt]).toEqual(['processed', entry.receivedAt])
    expect(await auditTypesOf(world(), entry)).toEqual(['webhook.ignored'])
  })

  it('again is a duplicate of the first, whatever it contains the second time', async () => {
    const first = await received(world().store)
    const body = newWebhook().body
    const again = newWebhook({ webhookId: first.webhookId, event: 'push', lane: 'x', body })
    const answer = await world().store.inbox.receive(again)
    expect(answer).toEqual({ arrived: 'again', entry: first, storedId: first.id })
    const stored = await world().store.inbox.body(first.arrival)
    expect(unpackBody(stored!.body).toString()).toContain(first.webhookId)
    expect(await auditTypesOf(world(), first)).toEqual(['webhook.received', 'webhook.duplicate'])
  })

  it('under another GUID is stored as a duplicate of the event, and never processed', async () => {
    const eventKey = unique('event')
    const first = await received(world().store, { eventKey })
    const other = newWebhook({ eventKey, lane: first.lane })
    const answer = await world().store.inbox.receive(other)
    expect(answer).toMatchObject({ arrived: 'same-event', entry: { id: first.id } })
    const stored = await world().store.inbox.get(other.webhookId)
    expect(stored).toMatchObject({
      id: answer.storedId,
      decision: 'duplicate',
      reason: 'same-event',
      state: 'processed',
      duplicateOf: first.id,
    })
    expect(await world().store.inbox.body(stored!.arrival)).not.toBeNull()
    const again = await world().store.inbox.receive(other)
    expect(again).toMatchObject({ arrived: 'again', entry: { id: first.id } })
    expect(again.storedId).toBe(answer.storedId)
    const types = ['webhook.received', 'webhook.duplicate', 'webhook.duplicate']
    expect(await auditTypesOf(world(), first)).toEqual(types)
  })

  it('like one before, with another event of its lane in between, is accepted', async () => {
    const { store } = world()
    const [eventKey, lane] = [unique('event'), unique('lane')]
    const first = await received(store, { eventKey, lane })
    const between = await received(store, { eventKey: unique('event'), lane })
    const again = newWebhook({ eventKey, lane })
    const answer = await store.inbox.receive(again)
    expect(answer).toMatchObject({ arrived: 'new', entry: { state: 'waiting', needsLook: true } })
    expect([first, between].map(({ needsLook }) => needsLook)).toEqual([false, false])
    expect(await store.inbox.get(answer.storedId)).toEqual(answer.entry)
    expect(await store.inbox.body(answer.entry.arrival)).not.toBeNull()
    expect((await store.inbox.receive(again)).arrived).toBe('again')
    const repeat = await store.inbox.receive(newWebhook({ eventKey, lane }))
    expect(repeat).toMatchObject({ arrived: 'same-event', entry: { id: answer.entry.id } })
  })

  it('like one before, with only repeats in between, is a repeat', async () => {
    const { store } = world()
    const [eventKey, lane] = [unique('event'), unique('lane')]
    await received(store, { eventKey: unique('event'), lane })
    const first = await received(store, { eventKey, lane })
    for (let n = 0; n < 3; n++) {
      const answer = await store.inbox.receive(newWebhook({ eventKey, lane }))
      expect(answer).toMatchObject({ arrived: 'same-event', entry: { id: first.id } })
    }
  })

  it('like one before, ten times at once, is accepted once', async () => {
    const { store } = world()
    const [eventKey, lane] = [unique('event'), unique('lane')]
    await received(store, { eventKey, lane })
    await received(store, { eventKey: unique('event'), lane })
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => store.inbox.receive(newWebhook({ eventKey, lane }))),
    )
    expect(answers.filter(({ arrived }) => arrived === 'new')).toHaveLength(1)
  })

  it('fifty times at once is one entry and forty-nine duplicates', async () => {
    const webhook = newWebhook()
    const copies = Array.from({ length: 50 }, () => ({ ...webhook }))
    const answers = await Promise.all(copies.map((copy) => world().store.inbox.receive(copy)))
    expect(answers.filter(({ arrived }) => arrived === 'new')).toHaveLength(1)
    expect(new Set(answers.map(({ storedId }) => storedId)).size).toBe(1)
    const types = await auditTypesOf(world(), answers[0]!.entry)
    expect(types.filter((type) => type === 'webhook.received')).toHaveLength(1)
    expect(types.filter((type) => type === 'webhook.duplicate')).toHaveLength(49)
  })

  it('at once under many GUIDs and in many lanes is one event that waits', async () => {
    const eventKey = unique('event')
    const many = Array.from({ length: 20 }, () => newWebhook({ eventKey }))
    const answers = await Promise.all(many.map((one) => world().store.inbox.receive(one)))
    const arrived = answers.map((answer) => answer.arrived).toSorted()
    expect(arrived).toEqual(['new', ...Array.from({ length: 19 }, () => 'same-event')])
    expect(new Set(answers.map(({ entry }) => entry.id)).size).toBe(1)
    expect(new Set(answers.map(({ storedId }) => storedId)).size).toBe(20)
  })

  it('beside many others is stored like all of them, in the order of its lane', async () => {
    const lanes = Array.from({ length: 10 }, () => unique('lane'))
    const many = Array.from({ length: 200 }, (_, n) => newWebhook({ lane: lanes[n % 10]! }))
    const answers = await Promise.all(many.map((one) => world().store.inbox.receive(one)))
    expect(answers.every(({ arrived }) => arrived === 'new')).toBe(true)
    for (const lane of lanes) {
      const own = answers.filter(({ entry }) => entry.lane === lane)
      const arrivals = own.map(({ entry }) => entry.arrival)
      expect(arrivals).toEqual(arrivals.toSorted((a, b) => a - b))
    }
  })

  it('is found by each of its properties', async () => {
    const repo = unique('acme/found')
    const one = await received(world().store, { repo, number: 7, event: 'issue_comment' })
    const two = await received(world().store, { repo, decision: 'ignored', waits: false })
    const list = async (filter: object) => {
      const { items } = await world().store.inbox.list({ repo, ...filter }, page)
      return items.map(({ id }) => id)
    }
    expect(await list({})).toEqual([two.id, one.id])
    for (const filter of [{ number: 7 }, { event: 'issue_comment' }, { state: 'waiting' }]) {
      expect(await list(filter)).toEqual([one.id])
    }
    expect(await list({ decision: 'ignored' })).toEqual([two.id])
    expect(await list({ webhookId: two.webhookId })).toEqual([two.id])
    const first = await world().store.inbox.list({ repo }, { limit: 1, cursor: null })
    const next = await world().store.inbox.list({ repo }, { limit: 1, cursor: first.nextCursor })
    expect(next.items.map(({ id }) => id)).toEqual([one.id])
  })
}

function waiting(open: OpenStore): void {
  const world = useWorld(open)
  const dueIds = async () => (await allDue(world().store)).map(({ id }) => id)
  const limits = purgeLimits({ finishedDays: 30, supersededDays: 7, inboxDays: 7, auditDays: 90 })

  it('is reserved for its receiver for a moment, then any process may take it', async () => {
    const entry = await received(world().store)
    expect(await dueIds()).not.toContain(entry.id)
    world().clock.move(second)
    expect(await dueIds()).toContain(entry.id)
  })

  it('is due in the order of arrival, the first of each lane', async () => {
    const lane = unique('lane')
    const repo = unique('acme/due')
    const first = await received(world().store, { lane, repo })
    world().clock.move(5)
    const behind = await received(world().store, { lane, repo })
    world().clock.move(5)
    const other = await received(world().store, { repo })
    world().clock.move(minute)
    const due = await dueIds()
    expect(due.indexOf(first.id)).toBeLessThan(due.indexOf(other.id))
    expect(due).not.toContain(behind.id)
    await world().store.inbox.finish(decided(first))
    expect(await dueIds()).toContain(behind.id)
  })

  it('is found beside very many of one repository, in few looks', async () => {
    const { store } = world()
    const busy = unique('acme/busy')
    const lane = unique('lane')
    const many = Array.from({ length: 300 }, (_, n) =>
      newWebhook({ repo: busy, repoId: null, ...(n < 200 && { lane }) }),
    )
    const before = await Promise.all(many.map((one) => store.inbox.receive(one)))
    for (const { entry } of before.slice(-20)) await store.inbox.postpone(entry.id, 0, 'not now')
    const other = await received(store, { repo: `${busy}-other`, repoId: null })
    world().clock.move(minute)
    const { entries } = await store.inbox.due({ after: busy.slice(0, -1) })
    const ofBusy = entries.filter(({ repo }) => repo === busy)
    expect(ofBusy.length).toBeLessThanOrEqual(64 + 16)
    expect(ofBusy.filter((entry) => entry.lane === lane).length).toBeLessThanOrEqual(1)
    expect(entries.map(({ id }) => id)).toContain(other.id)
    const due = await dueIds()
    expect(before.filter(({ entry }) => due.includes(entry.id))).toHaveLength(80 + 1 + 16)
  })

  it('is found by the next look where more repositories wait than one look reads', async () => {
    const { store } = world()
    const name = unique('acme/many')
    const many = Array.from({ length: 70 }, (_, n) =>
      newWebhook({ repo: `${name}-${n}`, repoId: null }),
    )
    await Promise.all(many.map((one) => store.inbox.receive(one)))
    world().clock.move(minute)
    const first = await store.inbox.due({ after: name })
    expect(first.entries).toHaveLength(32)
    const found = (await allDue(store)).filter(({ repo }) => repo?.startsWith(name))
    expect(found).toHaveLength(70)
  })

  it('and cannot be decided yet is tried again later, and blocks no other', async () => {
    const lane = unique('lane')
    const entry = await received(world().store, { lane })
    const behind = await received(world().store, { lane })
    const dueAt = world().store.now() + 10 * minute
    await world().store.inbox.postpone(entry.id, dueAt, 'GitHub could not be asked')
    world().clock.move(9 * minute)
    expect(await dueIds()).not.toContain(entry.id)
    expect(await dueIds()).toContain(behind.id)
    world().clock.move(minute)
    expect(await dueIds()).toContain(entry.id)
    expect(await world().store.inbox.get(entry.id)).toMatchObject({
      state: 'waiting',
      tries: 1,
      lastError: 'GitHub could not be asked',
    })
    expect(await auditTypesOf(world(), entry)).toEqual(['webhook.received', 'webhook.postponed'])
    const { entry: after } = await world().store.inbox.finish(decided(entry))
    expect(after).toMatchObject({ lastError: null, tries: 1 })
    await world().store.inbox.postpone(entry.id, dueAt, 'too late')
    expect(await world().store.inbox.get(entry.id)).toEqual(after)
  })

  it('is counted, with the age of the oldest', async () => {
    const before = await world().store.inbox.backlog()
    const entry = await received(world().store)
    const { waiting: count, oldestAt } = await world().store.inbox.backlog()
    expect(count).toBe(before.waiting + 1)
    expect(oldestAt).toBeLessThanOrEqual(entry.receivedAt)
  })

  it('that was ignored or given up is counted with its reason', async () => {
    const { store } = world()
    const before = await store.inbox.backlog()
    const [often, once] = [await received(store), await received(store)]
    for (let n = 0; n < 9; n++) await store.inbox.postpone(often.id, store.now(), `try ${n}`)
    await store.inbox.postpone(once.id, store.now(), 'a first try')
    expect(await store.inbox.backlog()).toMatchObject({
      postponed: before.postponed + 2,
      mostTried: { id: often.id, tries: 9, lastError: 'try 8' },
      failed: before.failed,
    })
    const given = { ...decided(often), reason: 'store-contended', givenUp: true }
    const { entry } = await store.inbox.finish(given)
    expect(entry).toMatchObject({ state: 'failed', decision: 'accepted', dueAt: null })
    expect(await auditTypesOf(world(), often)).toContain('webhook.failed')
    expect(await store.inbox.backlog()).toMatchObject({
      postponed: before.postponed + 1,
      failed: before.failed + 1,
      lastFailed: { id: often.id, reason: 'store-contended' },
    })
  })

  it('and is replayed is decided again, and recognises the run it led to', async () => {
    const subject = new TestSubject(world())
    const entry = await received(world().store)
    const act = claiming(subject.claimOf('a', { webhookId: entry.webhookId }))
    await world().store.inbox.finish(decided(entry, act))
    const once = onceOf(unique('key'))
    const again = await world().store.inbox.replay(entry.webhookId, 'operator', once)
    expect(again).toMatchObject({ id: entry.id, state: 'waiting', decision: 'accepted', tries: 0 })
    const repeated = await world().store.inbox.replay(entry.webhookId, 'operator', once)
    expect(repeated).toEqual(again)
    expect(await dueIds()).toContain(entry.id)
    const held = await subject.lease()
    await subject.complete(held!, 'failed')
    const { entry: after } = await world().store.inbox.finish(decided(entry, act))
    expect(after?.outcomes).toMatchObject([{ result: 'claimed', reason: 'duplicate' }])
    const types = ['received', 'processed'].map((type) => `webhook.${type}`)
    const more = ['operator.replay_requested', 'webhook.processed']
    expect(await auditTypesOf(world(), entry)).toEqual([...types, ...more])
  })

  it('and is replayed does not repeat a rerun', async () => {
    const subject = new TestSubject(world())
    await subject.putInState('a', 'succeeded')
    const entry = await received(world().store)
    const { webhookId } = entry
    const act = claiming(subject.claimOf('a', { rerun: true, headMaking: false, webhookId }))
    const first = await world().store.inbox.finish(decided(entry, act))
    expect(first.claims).toMatchObject([{ reason: 'rerun', run: { round: 2 } }])
    await subject.complete((await subject.lease())!)
    await world().store.inbox.replay(entry.id, 'operator', null)
    const again = await world().store.inbox.finish(decided(entry, act))
    expect(again.claims).toMatchObject([{ reason: 'duplicate', process: false }])
    expect(await subject.run('a')).toMatchObject({ state: 'succeeded', round: 2 })
  })

  it('and is replayed by the id of its duplicate is the first one', async () => {
    const eventKey = unique('event')
    const first = await received(world().store, { eventKey })
    await world().store.inbox.finish(decided(first))
    const { storedId } = await world().store.inbox.receive(newWebhook({ eventKey }))
    const again = await world().store.inbox.replay(storedId, 'operator', null)
    expect(again).toMatchObject({ id: first.id, state: 'waiting' })
    expect(await world().store.inbox.get(storedId)).toMatchObject({ state: 'processed' })
  })

  it('cannot be replayed when it does not exist', async () => {
    const asked = world().store.inbox.replay('inb_none', 'operator', null)
    await expect(asked).rejects.toMatchObject({ code: 'inbox_entry_not_found' })
  })

  it('is never purged; a processed one is purged with its body, and counts as new', async () => {
    const eventKey = unique('event')
    const kept = await received(world().store)
    const done = await received(world().store, { eventKey })
    await world().store.inbox.finish(decided(done))
    world().clock.move(7 * day)
    await purgeAll(world().store, limits, 'purge')
    expect(await world().store.inbox.get(done.id)).not.toBeNull()
    world().clock.move(1)
    await purgeAll(world().store, limits, 'purge')
    expect(await world().store.inbox.get(done.id)).toBeNull()
    expect(await world().store.inbox.body(done.arrival)).toBeNull()
    world().clock.move(300 * day)
    await purgeAll(world().store, limits, 'purge')
    expect(await world().store.inbox.get(kept.id)).toEqual(kept)
    expect(await world().store.inbox.body(kept.arrival)).not.toBeNull()
    const again = newWebhook({ webhookId: done.webhookId, eventKey })
    expect((await world().store.inbox.receive(again)).arrived).toBe('new')
  })

  it('counts as the same event as claims under its GUID', async () => {
    const subject = new TestSubject(world())
    const entry = await received(world().store)
    const claim = pullRequestClaim(
      { repo: subject.repo, pr: 5, head: 'a' },
      { type: subject.type, webhookId: entry.webhookId },
    )
    await subject.putInState('a', 'failed', { webhookId: entry.webhookId })
    const { claims } = await world().store.inbox.finish(decided(entry, claiming(claim)))
    expect(claims).toMatchObject([{ reason: 'duplicate', process: false }])
  })
}
