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
class Scene {
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
  const scene = new Scene()
  scene.send(5, () => true)
  scene.failAt = { page: 1, error: failure('rate_limited') }
  await scene.pass()
  const [[identity, { until, by }] = ['', { until: 0, by: '' }]] = [...scene.blocks]
  expect([identity, by]).toEqual(['github:app:7', 'catch-up'])
  expect(until).toBeGreaterThan(startedAt + 60_000)
  await scene.pass()
  expect(scene.pages).toBe(0)
})

it('the next pass continues a list that is longer than one pass, in any process', async () => {
  const scene = new Scene()
  scene.send(45_000, (i) => i === 10 || i === 44_000)
  const first = await scene.pass()
  expect(scene.entered).toEqual(['missed-44001'])
  expect(first.skipped).toMatchObject([tooMany])
  scene.send(50, (i) => i === 7)
  expect((await scene.pass()).skipped).toMatchObject([tooMany])
  expect(scene.entered).toEqual(['missed-44001', 'missed-45008'])
  const last = await scene.pass()
  expect([last.skipped, scene.entered.at(-1)]).toEqual([[], 'missed-11'])
  expect(scene.read?.gap).toBeNull()
  // From now on, nothing is read twice.
  await scene.pass()
  expect(scene.pages).toBeLessThan(15)
})

it('the next passes fetch the webhooks that one pass has no room for', async () => {
  const scene = new Scene()
  scene.send(4500, () => true)
  const reports = [await scene.pass(), await scene.pass(), await scene.pass()]
  expect(reports.map(({ ingested }) => ingested)).toEqual([2000, 2000, 500])
  expect(reports.map(({ skipped }) => skipped.length)).toEqual([1, 1, 0])
  expect(new Set(scene.entered).size).toBe(4500)
})

it('a limit in the middle of a pass loses nothing that was read before it', async () => {
  const scene = new Scene()
  scene.send(10_000, (i) => i === 5 || i === 9990)
  const limit = failure('rate_limited')
  scene.failAt = { page: 50, error: limit }
  expect((await scene.pass()).skipped).toEqual([
    { what: 'webhooks', reason: 'GitHub asks us to wait' },
  ])
  expect(scene.entered).toEqual(['missed-9991'])
  scene.blocks.clear()
  await scene.pass()
  expect(scene.pages).toBeLessThan(75)
  expect(scene.entered).toEqual(['missed-9991', 'missed-6'])
})

describe('a stop in the middle of a pass', () => {
  const missed = (i: number) => i % 500 === 0

  it.each([1, 3, 7])('after %i webhooks leaves the others to the next pass', async (taken) => {
    const scene = new Scene()
    scene.send(5000, missed)
    await scene.pass(() => scene.entered.length >= taken)
    expect(scene.entered).toHaveLength(taken)
    await scene.pass()
    expect(scene.entered).toHaveLength(10)
    expect(new Set(scene.entered).size).toBe(10)
    expect(scene.read).toMatchObject({ gap: null })
  })

  it('does not lose what earlier passes left', async () => {
    const scene = new Scene()
    scene.send(45_000, (i) => i < 20_000 && missed(i))
    await scene.pass()
    expect([scene.entered.length, scene.read?.gap === null]).toEqual([0, false])
    await scene.pass(() => scene.entered.length >= 3)
    expect([scene.entered.length, scene.read?.gap === null]).toEqual([3, false])
    await scene.pass()
    await scene.pass()
    expect(new Set(scene.entered).size).toBe(40)
    expect([scene.entered.length, scene.read?.gap]).toEqual([40, null])
  })

  it('reads no further page', async () => {
    const scene = new Scene()
    scene.send(5000, (i) => i === 10)
    await scene.pass(() => scene.pages >= 3)
    expect(scene.pages).toBe(3)
    await scene.pass()
    expect([scene.entered, scene.read?.gap]).toEqual([['missed-11'], null])
  })

  it('asks for none of the webhooks that GitHub could not return', async () => {
    const scene = new Scene()
    scene.send(10, (i) => i === 3)
    scene.broken.set('missed-4', failure('unanswered'))
    await scene.pass()
    scene.broken.clear()
    scene.aheadMs = 10 * 60_000
    await scene.pass(() => true)
    expect(scene.entered).toEqual([])
    await scene.pass()
    expect(scene.entered).toEqual(['missed-4'])
  })
})

it('if GitHub no longer knows the position, the list is read from the top', async () => {
  const scene = new Scene()
  scene.send(25_000, (i) => i === 5)
  await scene.pass()
  // The newest part has more than a page, because some of it is read again.
  scene.failAt = { page: 11, error: failure('invalid') }
  const lost = await scene.pass()
  expect(lost.skipped).toMatchObject([tooMany])
  expect(scene.read?.gap).toBeNull()
  await scene.pass()
  await scene.pass()
  expect(scene.entered).toEqual(['missed-6'])
})

describe('a webhook that GitHub cannot return', () => {
  const minute = 60_000
  const day = 24 * 60 * minute

  it.each(['unanswered', 'forbidden', 'gone', 'network'] as const)(
    '(%s) is reported and delays no other, now or later',
    async (kind) => {
      const scene = new Scene()
      scene.send(5000, (i) => i === 3000 || i === 4000)
      scene.broken.set('missed-3001', failure(kind))
      const { skipped } = await scene.pass()
      expect(skipped).toMatchObject([{ what: 'webhook missed-3001' }])
      expect(scene.entered).toEqual(['missed-4001'])
      expect(scene.read).toMatchObject({ gap: null, owed: [{ guid: 'missed-3001', tries: 1 }] })
      scene.send(10, (i) => i === 5)
      await scene.pass()
      expect(scene.entered).toEqual(['missed-4001', 'missed-5006'])
      // The next pass begins where the first one ended, not where it failed.
      expect(scene.pages).toBeLessThan(15)
    },
  )

  it('is asked for again, with growing pauses, in any process', async () => {
    const scene = new Scene()
    scene.send(10, (i) => i === 3)
    scene.broken.set('missed-4', failure('unanswered'))
    const triedAfter: number[] = []
    for (let minutes = 0; minutes <= 40; minutes += 5) {
      scene.aheadMs = minutes * minute
      scene.asked.length = 0
      await scene.pass()
      if (scene.asked.length > 0) triedAfter.push(minutes)
    }
    expect(triedAfter).toEqual([0, 5, 15, 35])
    scene.broken.clear()
    scene.aheadMs = day
    expect(await scene.pass()).toMatchObject({ ingested: 1, skipped: [] })
    expect(scene.read?.owed).toBeUndefined()
  })

  it('is given up and reported when GitHub no longer keeps it', async () => {
    const scene = new Scene()
    scene.send(10, (i) => i === 3)
    scene.broken.set('missed-4', failure('unanswered'))
    await scene.pass()
    scene.aheadMs = 3 * day + minute
    scene.asked.length = 0
    const { skipped } = await scene.pass()
    expect(skipped).toMatchObject([{ what: 'webhook missed-4' }])
    expect(skipped[0]?.reason).toContain('given up')
    expect([scene.asked, scene.read?.owed]).toEqual([[], undefined])
  })

  it('that arrived in another way is not asked for again', async () => {
    const scene = new Scene()
    scene.send(10, (i) => i === 3)
    scene.broken.set('missed-4', failure('unanswered'))
    await scene.pass()
    scene.entered.push('missed-4')
    scene.aheadMs = 10 * minute
    scene.asked.length = 0
    expect((await scene.pass()).skipped).toEqual([])
    expect([scene.asked, scene.read?.owed]).toEqual([[], undefined])
  })

  it('among many: a pass stops after three in a row, and the next one continues', async () => {
    const scene = new Scene()
    scene.send(10, () => true)
    for (const { guid } of scene.record) scene.broken.set(guid, failure('unanswered'))
    await scene.pass()
    expect(scene.asked).toEqual(['missed-1', 'missed-2', 'missed-3'])
    scene.broken.delete('missed-6')
    await scene.pass()
    expect(scene.asked.slice(3)).toEqual([
      'missed-4',
      'missed-5',
      'missed-6',
      'missed-7',
      'missed-8',
      'missed-9',
    ])
    expect(scene.entered).toEqual(['missed-6'])
    scene.broken.clear()
    scene.aheadMs = day
    await scene.pass()
    expect(new Set(scene.entered).size).toBe(10)
  })

  it('because of a limit or wrong credentials ends the pass', async () => {
    for (const kind of ['rate_limited', 'unauthorized'] as const) {
      const scene = new Scene()
      scene.send(10, (i) => i === 3)
      scene.broken.set('missed-4', failure(kind))
      expect((await scene.pass()).skipped).toMatchObject([{ what: 'webhooks' }])
      expect(scene.read).toBeNull()
    }
  })
})
