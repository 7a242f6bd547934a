/**
 * Goal: a verb of the inbox that is cut off at any of its statements has done nothing: the run, the
 * finished entry and the audit rows of both are stored together or not at all.
 * Method: each verb is cut off at its first statement, then at its second, and so on until it
 * succeeds; until then, what the store shows must not change.
 */
import { describe, expect, it } from 'vitest'
import { eitherDatabase, useCutOffStore } from '../cut-off-store.ts'
import { TestSubject } from '../test-subject.ts'
import { claiming, decided, newWebhook, received } from './webhooks.ts'

describe.each(eitherDatabase)('cut off anywhere on %s', (_name, open) => {
  const { world, isCutOffAfter } = useCutOffStore(open)

  async function shown(): Promise<string> {
    const page = { limit: 1000, cursor: null }
    const inbox = await world.store.inbox.list({}, page)
    const runs = await world.store.runs.list({}, page)
    const audit = await world.store.audit.list({}, page)
    return JSON.stringify([inbox.items, runs.items, audit.items])
  }

  /** Returns how many statements the verb made. */
  async function cutEverywhere(verb: () => Promise<unknown>): Promise<number> {
    const before = await shown()
    for (let at = 0; ; at++) {
      if (!(await isCutOffAfter(at, verb))) return at
      expect(await shown()).toBe(before)
    }
  }

  it('receiving stores nothing, and a webhook that is sent again is new', async () => {
    const webhook = newWebhook({ eventKey: 'event' })
    expect(await cutEverywhere(() => world.store.inbox.receive(webhook))).toBeGreaterThan(2)
    expect(await world.store.inbox.get(webhook.webhookId)).toMatchObject({ decision: 'accepted' })
  })

  it('finishing changes nothing and leaves the entry waiting', async () => {
    const subject = new TestSubject(world)
    await subject.claim('a', { eventAt: 1 })
    const other = new TestSubject(world)
    await other.claim('a', { eventAt: 1 })
    const entry = await received(world.store, { eventAt: 2 })
    const acts = [
      claiming(subject.claimOf('b', { eventAt: 2 })),
      { act: 'cancel', type: other.type, repo: other.repo, pr: 5 },
    ] as const
    const took = await cutEverywhere(() => world.store.inbox.finish(decided(entry, ...acts)))
    expect(took).toBeGreaterThan(10)
    expect([await subject.state('a'), await subject.state('b')]).toEqual(['superseded', 'pending'])
    expect(await other.state('a')).toBe('cancelled')
    expect(await world.store.inbox.get(entry.id)).toMatchObject({ state: 'processed' })
  })

  it('postponing and replaying change nothing', async () => {
    const entry = await received(world.store)
    const postponed = await cutEverywhere(() =>
      world.store.inbox.postpone(entry.id, world.store.now() + 5, 'why'),
    )
    await world.store.inbox.finish(decided(entry))
    const replayed = await cutEverywhere(() => world.store.inbox.replay(entry.id, 'operator', null))
    expect(Math.min(postponed, replayed)).toBeGreaterThan(0)
    expect(await world.store.inbox.get(entry.id)).toMatchObject({ state: 'waiting', tries: 0 })
  })
})
