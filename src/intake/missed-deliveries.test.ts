// Goal: however long GitHub's record of what it sent is, all of it is read in the end, some in each
// pass, also by another process; and what a pass leaves is named.
import { expect, it } from 'vitest'
import type { DeliveriesRead } from '../catch-up-store.ts'
import type { HookDeliveryItem } from '../github.ts'
import { GitHubError } from '../github/errors.ts'
import { withTypeDefaults } from '../settings/type-defaults.ts'
import { CatchUpNotes } from './catch-up-report.ts'
import { MissedDeliveries } from './missed-deliveries.ts'

const startedAt = Date.UTC(2026, 0, 1)
const perPage = 100

/** GitHub's record and a store, as far as they matter here. A process is a reader over them. */
class Scene {
  /** Newest first. */
  record: HookDeliveryItem[] = []
  readonly entered: string[] = []
  read: DeliveriesRead | null = null
  pages = 0
  /** Fails the call for this page of a pass, once. */
  failAt: { page: number; error: GitHubError } | null = null
  #made = 0

  send(count: number, missed: (i: number) => boolean = () => false): void {
    const items = Array.from({ length: count }, (_, i): HookDeliveryItem => {
      this.#made += 1
      const deliveredAt = startedAt + this.#made * 1000
      const guid = `${missed(i) ? 'missed' : 'heard'}-${this.#made}`
      return { id: this.#made, guid, deliveredAt, event: 'pull_request', action: 'opened' }
    })
    this.record = [...items.toReversed(), ...this.record]
  }

  async pass() {
    this.pages = 0
    const notes = new CatchUpNotes(() => false)
    await this.#reader().pass(notes)
    return notes.report()
  }

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
        hookDeliveries: async (cursor) => page(cursor),
        hookDelivery: async () => ({ headers: {}, payload: {} }),
      },
      store: {
        now: () => startedAt + this.#made * 1000,
        firstStartedAt: async () => startedAt,
        catchUp: {
          knownWebhooks: async (guids) =>
            new Set(
              guids.filter((guid) => guid.startsWith('heard') || this.entered.includes(guid)),
            ),
          deliveriesRead: async () => this.read,
          noteDeliveriesRead: async (read) => void (this.read = read),
        },
        outbox: { blockedUntil: async () => null, blockIdentity: async () => undefined },
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

const failure = (kind: 'rate_limited' | 'invalid'): GitHubError =>
  new GitHubError(
    { kind, until: null, repositoryId: null, unclear: false, failure: null },
    { route: 'GET', status: 422, requestId: '', githubRequestId: null },
  )
const tooMany = { what: 'older webhooks' }

it('a record longer than one pass is read on by the next, in any process', async () => {
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
  // Nothing is read twice from now on.
  await scene.pass()
  expect(scene.pages).toBeLessThan(15)
})

it('more missed webhooks than one pass fetches are fetched by the next ones', async () => {
  const scene = new Scene()
  scene.send(4500, () => true)
  const reports = [await scene.pass(), await scene.pass(), await scene.pass()]
  expect(reports.map(({ ingested }) => ingested)).toEqual([2000, 2000, 500])
  expect(reports.map(({ skipped }) => skipped.length)).toEqual([1, 1, 0])
  expect(new Set(scene.entered).size).toBe(4500)
})

it('a limit in the middle loses nothing of what was read before it', async () => {
  const scene = new Scene()
  scene.send(10_000, (i) => i === 5 || i === 9990)
  const limit = failure('rate_limited')
  scene.failAt = { page: 50, error: limit }
  expect((await scene.pass()).skipped).toEqual([
    { what: 'webhooks', reason: 'GitHub asks to wait' },
  ])
  expect(scene.entered).toEqual(['missed-9991'])
  await scene.pass()
  expect(scene.pages).toBeLessThan(75)
  expect(scene.entered).toEqual(['missed-9991', 'missed-6'])
})

it('a place that GitHub does not know any more is looked for from the top', async () => {
  const scene = new Scene()
  scene.send(25_000, (i) => i === 5)
  await scene.pass()
  // The newest part has more than a page, because a part of it is read again.
  scene.failAt = { page: 11, error: failure('invalid') }
  const lost = await scene.pass()
  expect(lost.skipped).toMatchObject([tooMany])
  expect(scene.read?.gap).toBeNull()
  await scene.pass()
  await scene.pass()
  expect(scene.entered).toEqual(['missed-6'])
})
