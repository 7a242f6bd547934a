/**
 * Goal: two processes on one database store a webhook once and apply its decision once; and when
 * one of them ends, the other one or the next finds what still waits.
 * Method: two stores over one database; on SQLite over one file, which the second store opens
 * beside the one that serves it.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InboxEntry } from '../../../src/domain/inbox.ts'
import type { Store } from '../../../src/store.ts'
import { unique } from '../claims.ts'
import { sharedDatabases, type SharedDatabase } from '../shared-database.ts'
import { TestSubject } from '../test-subject.ts'
import { allDue, claiming, decided, newWebhook, received, auditTypesOf } from './webhooks.ts'
import { second, TestClock } from '../world.ts'

describe.each(sharedDatabases)('two stores on one %s database', (_name, make) => {
  const clock = new TestClock()
  let database: SharedDatabase
  let stores: Store[]
  beforeEach(async () => {
    database = await make()
    stores = [await database.open(clock, true), await database.open(clock, false)]
  })
  afterEach(async () => {
    for (const store of stores) await store.close()
    await database.remove()
  })
  const store = (): Store => stores[0]!
  const subjectOf = () => new TestSubject({ store: store(), clock, close: async () => undefined })

  it('that get every webhook twice at once store each once', async () => {
    const webhooks = Array.from({ length: 40 }, () => newWebhook())
    const answers = await Promise.all(
      webhooks.flatMap((webhook) => stores.map((each) => each.inbox.receive({ ...webhook }))),
    )
    const fresh = answers.filter(({ arrived }) => arrived === 'new')
    expect(fresh).toHaveLength(40)
    expect(new Set(answers.map(({ storedId }) => storedId)).size).toBe(40)
    for (const { entry } of fresh) {
      expect(await auditTypesOf({ store: store() }, entry)).toEqual([
        'webhook.received',
        'webhook.duplicate',
      ])
    }
  })

  it('that get an event under two GUIDs at once let it wait once', async () => {
    const keys = Array.from({ length: 30 }, () => unique('event'))
    const answers = await Promise.all(
      keys.flatMap((eventKey) =>
        stores.map((each) => each.inbox.receive(newWebhook({ eventKey }))),
      ),
    )
    expect(answers.filter(({ arrived }) => arrived === 'new')).toHaveLength(30)
    expect(answers.filter(({ arrived }) => arrived === 'same-event')).toHaveLength(30)
    expect((await store().inbox.backlog()).waiting).toBe(30)
  })

  it('that finish every entry at once apply each once', async () => {
    const subjects = Array.from({ length: 30 }, () => subjectOf())
    const entries = await Promise.all(subjects.map(() => received(store())))
    const answers = await Promise.all(
      subjects.flatMap((subject, n) =>
        stores.map((each) =>
          each.inbox.finish(decided(entries[n]!, claiming(subject.claimOf('a')))),
        ),
      ),
    )
    expect(answers.filter(({ result }) => result === 'finished')).toHaveLength(30)
    for (const [n, subject] of subjects.entries()) {
      expect((await subject.audits('a')).map(({ type }) => type)).toEqual(['run.claimed'])
      expect(await auditTypesOf({ store: store() }, entries[n]!)).toEqual([
        'webhook.received',
        'webhook.processed',
      ])
    }
  })

  it('that finish the entries of one lane at once keep their order', async () => {
    const subject = subjectOf()
    const lane = unique('lane')
    const heads = Array.from({ length: 12 }, (_, n) => `head ${n}`)
    const entries: InboxEntry[] = []
    for (const _head of heads) entries.push(await received(store(), { lane }))
    const left = new Set(heads.keys())
    while (left.size > 0) {
      const tries = [...left].flatMap((n) => stores.map((each) => [n, each] as const))
      const answers = await Promise.all(
        tries.map(async ([n, each]) => {
          const act = claiming(subject.claimOf(heads[n]!))
          return [n, (await each.inbox.finish(decided(entries[n]!, act))).result] as const
        }),
      )
      for (const [n, result] of answers) if (result === 'finished') left.delete(n)
    }
    const states = await Promise.all(heads.map((head) => subject.state(head)))
    expect(states).toEqual([...Array.from({ length: 11 }, () => 'superseded'), 'pending'])
    const fences = await Promise.all(heads.map(async (head) => (await subject.run(head)).fence))
    expect(fences).toEqual(fences.toSorted((a, b) => a - b))
  })

  it('that end leave what waits to the next process', async () => {
    const entry = await received(store())
    for (const each of stores.splice(0)) await each.close()
    clock.move(second)
    stores.push(await database.open(clock, true))
    const due = await allDue(store())
    expect(due.map(({ id }) => id)).toEqual([entry.id])
    expect(await store().inbox.body(entry.arrival)).not.toBeNull()
    const subject = subjectOf()
    const answer = await store().inbox.finish(decided(entry, claiming(subject.claimOf('a'))))
    expect(answer.result).toBe('finished')
    expect(await subject.state('a')).toBe('pending')
  })
})
