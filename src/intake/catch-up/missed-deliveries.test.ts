// Goal: GitHub's list of sent webhooks is read to its end, however long it is: a part in each pass,
// also by another process. Each pass reports what it leaves.
import { describe, expect, it } from 'vitest'
import type { DeliveriesRead } from '../../store/catch-up-store.ts'
import type { HookDeliveryItem } from '../../github.ts'
import { GitHubError } from '../../github/errors.ts'
import { withTypeDefaults } from '../../settings/run-types/type-defaults.ts'
import { CatchUpNotes } from './catch-up-report.ts'
import { MissedDeliveries } from './missed-deliveries.ts'

const startedAt = Date.UTC(2026, 0, 1)
const perPage = 100

/**
 * The parts of GitHub's list and of a store that the tests need. Each process reads through this.
 */
class FakeGitHubAndStore {
  /** Newest first. */
  record: HookDeliveryItem[] = []
  readonly entered: string[] = []
  read: DeliveriesRead | null = null
  pages = 0
  /** Fails the call for this page of a pass, once. */
  failAt: { page: number; error: GitHubError } | null = null
  /** GUIDs that GitHub cannot return, and how often each was asked for. */
  readonly broken = new Map<string, GitHubError>()
  readonly asked: string[] = []
  aheadMs = 0
  #made = 0

  send(count: number, missed: (i: number) => boolean = () => false): void {
    const items = Array.from({ length: count }, (_, i): HookDeliveryItem => {
      this.#made += 1
      const deliveredAt = startedAt + this.#made * 1000
      const guid = `${missed(i) ? 'missed' : 'heard'}-${this.#made}`
      return {
        id: this.#made,
        guid,
        deliveredAt,
        event: 'pull_request',
        action: 'opened',
        answered: 503,
      }
    })
    this.record = [...items.toReversed(), ...this.record]
  }

  async pass(isOver: () => boolean = () => false) {
    this.pages = 0
    const notes = new CatchUpNotes(isOver)
    await this.#reader().pass(notes)
    return notes.report()
  }

  /** Who was blocked, until when and by whom. */
  readonly blocks = new Map<string, { readonly until: number; readonly by: string }>()

  #reader(): MissedDeliveries {
    const page = (cursor: string | null) => {
      this.pages += 1
      if (this.failAt?.page === this.pages) {
        const { error } = this.failAt
        this.failAt = null
        throw error
      }
      const from = cursor === null ? 0 : this.record.findIndex(({ id }) => id <= Number(cursor))
      const items = from === -1 ? [] : this.record.slice(from, from + perPage)
      const next = from === -1 ? undefined : this.record[from + perPage]
      return { items, nextCursor: next === undefined ? null : String(next.id) }
    }
    return new MissedDeliveries({
      github: {
        ownIdentity: 'github:app:7',
        hookDeliveries: async (cursor) => page(cursor),
        hookDelivery: async (id) => {
          const guid = this.record.find((item) => item.id === id)?.guid ?? ''
          this.asked.push(guid)
          const error = this.broken.get(guid)
          if (error !== undefined) throw error
          return { headers: {}, payload: {} }
        },
      },
      store: {
        now: () => startedAt + this.#made * 1000 + this.aheadMs,
        upkeep: { firstStartedAt: async () => startedAt },
        catchUp: {
          knownWebhooks: async (guids) =>
            new Set(
              guids.filter((guid) => guid.startsWith('heard') || this.entered.includes(guid)),
            ),
          deliveriesRead: async () => this.read,
          noteDeliveriesRead: async (read) => void (this.read = read),
        },
        outbox: {
          blockedUntil: async (identity) => this.blocks.get(identity)?.until ?? null,
          blockIdentity: async (identity, until, _reason, by) =>
            void this.blocks.set(identity, { until, by }),
        },
      },
      intake: {
        receive: async ({ webhookId }) => {
          this.entered.push(webhookId)
          return { inboxId: webhookId, decision: 'accepted', reason: null, runIds: [] }
        },
      },
      types: withTypeDefaults({}).runs,
      clock: { wallMs: () => startedAt, monotonicMs: () => 0 },
    })
  }
}

const failure = (kind: GitHubError['kind']): GitHubError =>
  new GitHubError(
    { kind, until: null, repositoryId: null, unclear: false, failure: null },
    { route: 'GET', status: 422, requestId: '', githubRequestId: null },
  )
const tooMany = { what: 'older webhooks' }

it('a limit blocks the App, under the same identity as for publishing', async () => {
  const fake = new FakeGitHubAndStore()
  fake.send(5, () => true)
  fake.failAt = { page: 1, error: failure('rate_limited') }
  await fake.pass()
  const [[identity, { until, by }] = ['', { until: 0, by: '' }]] = [...fake.blocks]
  expect([identity, by]).toEqual(['github:app:7', 'catch-up'])
  expect(until).toBeGreaterThan(startedAt + 60_000)
  await fake.pass()
  expect(fake.pages).toBe(0)
})

it('the next pass continues a list that is longer than one pass, in any process', async () => {
  const fake = new FakeGitHubAndStore()
  fake.send(45_000, (i) => i === 10 || i === 44_000)
  const first = await fake.pass()
  expect(fake.entered).toEqual(['missed-44001'])
  expect(first.skipped).toMatchObject([tooMany])
  fake.send(50, (i) => i === 7)
  expect((await fake.pass()).skipped).toMatchObject([tooMany])
  expect(fake.entered).toEqual(['missed-44001', 'missed-45008'])
  const last = await fake.pass()
  expect([last.skipped, fake.entered.at(-1)]).toEqual([[], 'missed-11'])
  expect(fake.read?.gap).toBeNull()
  // From now on, nothing is read twice.
  await fake.pass()
  expect(fake.pages).toBeLessThan(15)
})

it('the next passes fetch the webhooks that one pass has no room for', async () => {
  const fake = new FakeGitHubAndStore()
  fake.send(4500, () => true)
  const reports = [await fake.pass(), await fake.pass(), await fake.pass()]
  expect(reports.map(({ ingested }) => ingested)).toEqual([2000, 2000, 500])
  expect(reports.map(({ skipped }) => skipped.length)).toEqual([1, 1, 0])
  expect(new Set(fake.entered).size).toBe(4500)
})

it('a limit in the middle of a pass loses nothing that was read before it', async () => {
  const fake = new FakeGitHubAndStore()
  fake.send(10_000, (i) => i === 5 || i === 9990)
  const limit = failure('rate_limited')
  fake.failAt = { page: 50, error: limit }
  expect((await fake.pass()).skipped).toEqual([
    { what: 'webhooks', reason: 'GitHub asks us to wait' },
  ])
  expect(fake.entered).toEqual(['missed-9991'])
  fake.blocks.clear()
  await fake.pass()
  expect(fake.pages).toBeLessThan(75)
  expect(fake.entered).toEqual(['missed-9991', 'missed-6'])
})

describe('a stop in the middle of a pass', () => {
  const missed = (i: number) => i % 500 === 0

  it.each([1, 3, 7])('after %i webhooks leaves the others to the next pass', async (taken) => {
    const fake = new FakeGitHubAndStore()
    fake.send(5000, missed)
    await fake.pass(() => fake.entered.length >= taken)
    expect(fake.entered).toHaveLength(taken)
    await fake.pass()
    expect(fake.entered).toHaveLength(10)
    expect(new Set(fake.entered).size).toBe(10)
    expect(fake.read).toMatchObject({ gap: null })
  })

  it('does not lose what earlier passes left', async () => {
    const fake = new FakeGitHubAndStore()
    fake.send(45_000, (i) => i < 20_000 && missed(i))
    await fake.pass()
    expect([fake.entered.length, fake.read?.gap === null]).toEqual([0, false])
    await fake.pass(() => fake.entered.length >= 3)
    expect([fake.entered.length, fake.read?.gap === null]).toEqual([3, false])
    await fake.pass()
    await fake.pass()
    expect(new Set(fake.entered).size).toBe(40)
    expect([fake.entered.length, fake.read?.gap]).toEqual([40, null])
  })

  it('reads no further page', async () => {
    const fake = new FakeGitHubAndStore()
    fake.send(5000, (i) => i === 10)
    await fake.pass(() => fake.pages >= 3)
    expect(fake.pages).toBe(3)
    await fake.pass()
    expect([fake.entered, fake.read?.gap]).toEqual([['missed-11'], null])
  })

  it('asks for none of the webhooks that GitHub could not return', async () => {
    const fake = new FakeGitHubAndStore()
    fake.send(10, (i) => i === 3)
    fake.broken.set('missed-4', failure('unanswered'))
    await fake.pass()
    fake.broken.clear()
    fake.aheadMs = 10 * 60_000
    await fake.pass(() => true)
    expect(fake.entered).toEqual([])
    await fake.pass()
    expect(fake.entered).toEqual(['missed-4'])
  })
})

it('if GitHub no longer knows the position, the list is read from the top', async () => {
  const fake = new FakeGitHubAndStore()
  fake.send(25_000, (i) => i === 5)
  await fake.pass()
  // The newest part has more than a page, because some of it is read again.
  fake.failAt = { page: 11, error: failure('invalid') }
  const lost = await fake.pass()
  expect(lost.skipped).toMatchObject([tooMany])
  expect(fake.read?.gap).toBeNull()
  await fake.pass()
  await fake.pass()
  expect(fake.entered).toEqual(['missed-6'])
})

describe('a webhook that GitHub cannot return', () => {
  const minute = 60_000
  const day = 24 * 60 * minute

  it.each(['unanswered', 'forbidden', 'gone', 'network'] as const)(
    '(%s) is reported and delays no other, now or later',
    async (kind) => {
      const fake = new FakeGitHubAndStore()
      fake.send(5000, (i) => i === 3000 || i === 4000)
      fake.broken.set('missed-3001', failure(kind))
      const { skipped } = await fake.pass()
      expect(skipped).toMatchObject([{ what: 'webhook missed-3001' }])
      expect(fake.entered).toEqual(['missed-4001'])
      expect(fake.read).toMatchObject({ gap: null, owed: [{ guid: 'missed-3001', tries: 1 }] })
      fake.send(10, (i) => i === 5)
      await fake.pass()
      expect(fake.entered).toEqual(['missed-4001', 'missed-5006'])
      // The next pass begins where the first one ended, not where it failed.
      expect(fake.pages).toBeLessThan(15)
    },
  )

  it('is asked for again, with growing pauses, in any process', async () => {
    const fake = new FakeGitHubAndStore()
    fake.send(10, (i) => i === 3)
    fake.broken.set('missed-4', failure('unanswered'))
    const triedAfter: number[] = []
    for (let minutes = 0; minutes <= 40; minutes += 5) {
      fake.aheadMs = minutes * minute
      fake.asked.length = 0
      await fake.pass()
      if (fake.asked.length > 0) triedAfter.push(minutes)
    }
    expect(triedAfter).toEqual([0, 5, 15, 35])
    fake.broken.clear()
    fake.aheadMs = day
    expect(await fake.pass()).toMatchObject({ ingested: 1, skipped: [] })
    expect(fake.read?.owed).toBeUndefined()
  })

  it('is given up and reported when GitHub no longer keeps it', async () => {
    const fake = new FakeGitHubAndStore()
    fake.send(10, (i) => i === 3)
    fake.broken.set('missed-4', failure('unanswered'))
    await fake.pass()
    fake.aheadMs = 3 * day + minute
    fake.asked.length = 0
    const { skipped } = await fake.pass()
    expect(skipped).toMatchObject([{ what: 'webhook missed-4' }])
    expect(skipped[0]?.reason).toContain('given up')
    expect([fake.asked, fake.read?.owed]).toEqual([[], undefined])
  })

  it('that arrived in another way is not asked for again', async () => {
    const fake = new FakeGitHubAndStore()
    fake.send(10, (i) => i === 3)
    fake.broken.set('missed-4', failure('unanswered'))
    await fake.pass()
    fake.entered.push('missed-4')
    fake.aheadMs = 10 * minute
    fake.asked.length = 0
    expect((await fake.pass()).skipped).toEqual([])
    expect([fake.asked, fake.read?.owed]).toEqual([[], undefined])
  })

  it('among many: a pass stops after three in a row, and the next one continues', async () => {
    const fake = new FakeGitHubAndStore()
    fake.send(10, () => true)
    for (const { guid } of fake.record) fake.broken.set(guid, failure('unanswered'))
    await fake.pass()
    expect(fake.asked).toEqual(['missed-1', 'missed-2', 'missed-3'])
    fake.broken.delete('missed-6')
    await fake.pass()
    expect(fake.asked.slice(3)).toEqual([
      'missed-4',
      'missed-5',
      'missed-6',
      'missed-7',
      'missed-8',
      'missed-9',
    ])
    expect(fake.entered).toEqual(['missed-6'])
    fake.broken.clear()
    fake.aheadMs = day
    await fake.pass()
    expect(new Set(fake.entered).size).toBe(10)
  })

  it('because of a limit or wrong credentials ends the pass', async () => {
    for (const kind of ['rate_limited', 'unauthorized'] as const) {
      const fake = new FakeGitHubAndStore()
      fake.send(10, (i) => i === 3)
      fake.broken.set('missed-4', failure(kind))
      expect((await fake.pass()).skipped).toMatchObject([{ what: 'webhooks' }])
      expect(fake.read).toBeNull()
    }
  })
})
