/**
 * Goal: publishers in several processes share one database: each delivery has one holder, an
 * identity has one budget, and one publisher takes over what another left.
 * Method: two stores over one database; on SQLite over one file.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { defaultPublishing } from '../../../src/domain/outbox/schedule.ts'
import type { Announcement } from '../../../src/domain/run.ts'
import type { BeginAnswer } from '../../../src/store/outbox-store.ts'
import type { Store } from '../../../src/store.ts'
import { holderOf, pullRequestClaim, unique } from '../claims.ts'
import { announced, ManualPublisher, sentEnd } from './manual-publisher.ts'
import { sharedDatabases, type SharedDatabase } from '../shared-database.ts'
import { TestSubject } from '../test-subject.ts'
import { minute, second, TestClock } from '../world.ts'

const onlyStatus: Announcement = { ...announced, anchorPer: null, checkName: null }

describe.each(sharedDatabases)('two publishers on one %s database', (_name, make) => {
  const clock = new TestClock()
  let database: SharedDatabase
  let publishers: readonly [ManualPublisher, ManualPublisher]
  beforeEach(async () => {
    database = await make()
    const opened = async () => new ManualPublisher({ store: await database.open(clock) })
    publishers = [await opened(), await opened()]
  })
  afterEach(async () => {
    for (const { store } of publishers) await store.close()
    await database.remove()
  })
  const store = (): Store => publishers[0].store
  const claim = (announcement = onlyStatus) =>
    new TestSubject({ store: store(), clock, close: async () => undefined }, { announcement })
  const claims = (count: number) =>
    Promise.all(Array.from({ length: count }, () => claim().claim('a')))

  it('lease each delivery once, however they race', async () => {
    await claims(60)
    const taken: string[] = []
    await Promise.all(
      [...publishers, ...publishers].map(async (publisher) => {
        for (let misses = 0; misses < 5;) {
          const leased = await publisher.lease(4)
          if (leased.length === 0) misses += 1
          taken.push(...leased.map(({ delivery }) => delivery.id))
        }
      }),
    )
    expect(taken).toHaveLength(60)
    expect(new Set(taken).size).toBe(60)
  })

  it('together write no more than one identity may', async () => {
    await claims(20)
    const limits = { spacingMs: 0, perMinute: 5, perHour: 0 }
    const due = await Promise.all(publishers.map((publisher) => publisher.lease(10)))
    const answers = await Promise.all(
      due.flatMap((leased, i) => leased.map((each) => publishers[i]!.begin(each, { limits }))),
    )
    const by = (result: BeginAnswer['result']) =>
      answers.filter((answer) => answer.result === result)
    expect(by('begun')).toHaveLength(5)
    expect(by('budget')).toHaveLength(answers.length - 5)
    const [one, other] = await Promise.all(
      publishers.map((publisher) => publisher.store.outbox.budgets()),
    )
    expect(other).toEqual(one)
  })

  it('keep the gap between two writes, whichever publisher makes them', async () => {
    await claims(8)
    const limits = { spacingMs: second, perMinute: 0, perHour: 0 }
    const leased = await publishers[0].lease()
    const theirs = leased.map((each, i) => publishers[i % 2]!.begin(each, { limits }))
    const answers = await Promise.all(theirs)
    expect(answers.filter(({ result }) => result === 'begun')).toHaveLength(1)
  })

  it('are both stopped by a limit that one of them hit', async () => {
    await claims(2)
    const [mine, yours] = await publishers[0].lease()
    const until = store().now() + minute
    const trouble = { code: 'rate_limited', text: 'slow down' }
    await publishers[0].send(mine!, { what: 'rate_limited', until, trouble })
    expect(await publishers[1].store.outbox.blockedUntil('token')).toBe(until)
    expect(await publishers[1].begin(yours!)).toMatchObject({ result: 'budget', why: 'blocked' })
  })

  it('take over what the other left in doubt; its answer comes too late', async () => {
    await claims(1)
    const [zombie] = await publishers[0].lease()
    const attempt = await publishers[0].begun(zombie!)
    clock.move(defaultPublishing.deliveryLeaseMs)
    const [next] = await publishers[1].lease()
    expect(next?.delivery).toMatchObject({ wait: 'in_doubt', attemptId: null })
    expect(await publishers[0].end(zombie!, attempt, sentEnd())).toBe('late')
    const found = [{ providerId: '5', url: null, current: true }]
    const seen = { what: 'looked', found, unverified: false, hash: 'h', looks: 1 } as const
    expect(await publishers[1].store.outbox.record(next!.lease, seen)).toBe('recorded')
  })

  it('send the messages of a run in order and leave none waiting, as they race', async () => {
    const silent = { ...onlyStatus, statusContext: null }
    const names = Array.from({ length: 40 }, (_, i) => `c${i}`)
    const held = await claim(silent).claim('a')
    const { runId, leaseHash } = holderOf(held)
    const sent: string[] = []
    const publishing = (async () => {
      for (const name of names) {
        const output = { name, channel: 'github-comment', content: { body: name } } as const
        const request = { runId, leaseHash, actor: 'test', ...output, rightsOf: () => allRights }
        await store().outbox.publish(request, null)
      }
    })()
    await Promise.all([
      publishing,
      ...publishers.map(async (publisher) => {
        // A message that is never released would be due days later, and not be found here.
        for (let misses = 0; misses < 200 && sent.length < names.length;) {
          const [leased] = await publisher.lease(1)
          misses = leased === undefined ? misses + 1 : 0
          if (leased === undefined) continue
          sent.push(leased.delivery.name)
          await publisher.send(leased)
        }
      }),
    ])
    expect(sent).toEqual(names)
  })

  it('sign with one key', async () => {
    await Promise.all(publishers.map((publisher) => publisher.store.outbox.markerKeys()))
    const later = await Promise.all(
      publishers.map((publisher) => publisher.store.outbox.markerKeys()),
    )
    expect(later[0]?.[0]).toBeDefined()
    expect(later[0]).toEqual(later[1])
  })

  it('show the later claim’s status when two pull requests share a head', async () => {
    const repo = unique('acme/shared')
    const policy = { ...claim().policy, announcement: onlyStatus }
    const answers = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((pr, i) =>
        publishers[i % 2]!.store.runs.claim(
          pullRequestClaim({ repo, pr, head: 'the same' }, { policy, type: 'review' }),
          null,
        ),
      ),
    )
    const { items } = await store().outbox.list({}, { limit: 10, cursor: null })
    expect(items).toHaveLength(1)
    const fences = answers.map(({ run }) => run!.fence)
    expect(items[0]?.versionFence).toBe(Math.max(...fences))
  })
})
