/**
 * Webhooks that GitHub sent and that never came: its record of them is read from the newest back to
 * where the last pass began, and what the inbox does not have is fetched and taken in, oldest
 * first.
 *
 * What must hold: what could not be read or fetched is looked for again by the next pass.
 */
import { InvalidInputError } from '../errors.ts'
import type { GitHubListings, HookDeliveryItem } from '../github.ts'
import { GitHubError, isGitHubError } from '../github/errors.ts'
import type { OutboxStore } from '../outbox-store.ts'
import type { CatchUpStore } from '../catch-up-store.ts'
import type { Clock } from '../clock.ts'
import type { Store } from '../store.ts'
import { fromItsSecond, untilWords, wordsFor, type CatchUpNotes } from './catch-up-report.ts'
import type { Intake } from './intake.ts'
import { isHeard, type RunTypes } from './route-event.ts'

/** GitHub's own limit. The inbox remembers longer, so nothing is taken in twice. */
const keptMs = 3 * 24 * 60 * 60_000
/** The record may lag behind. */
const marginMs = 15 * 60_000
const pagesMax = 200
const fetchedMax = 2000
/** Whom a limit on what the App itself asks is remembered under. */
const identity = 'github:app'

export interface MissedDeliveriesOptions {
  readonly github: Pick<GitHubListings, 'hookDeliveries' | 'hookDelivery'>
  readonly store: Pick<Store, 'now' | 'firstStartedAt'> & {
    readonly catchUp: Pick<CatchUpStore, 'knownWebhooks'>
    readonly outbox: Pick<OutboxStore, 'blockedUntil' | 'blockIdentity'>
  }
  readonly intake: Pick<Intake, 'receive'>
  readonly types: RunTypes
  readonly clock: Clock
}

interface Read {
  /** Newest first. */
  readonly missing: readonly HookDeliveryItem[]
  readonly newestAt: number | null
  readonly whole: boolean
}

export class MissedDeliveries {
  readonly #options: MissedDeliveriesOptions
  /** By GitHub's clock: what was sent before has been looked at. */
  #readTo = 0

  constructor(options: MissedDeliveriesOptions) {
    this.#options = options
  }

  async pass(notes: CatchUpNotes): Promise<void> {
    const { store, clock } = this.#options
    const blockedUntil = await store.outbox.blockedUntil(identity)
    if (blockedUntil !== null) {
      notes.skip('webhooks', untilWords(blockedUntil))
      return
    }
    const firstAt = await store.firstStartedAt()
    if (firstAt === null) {
      notes.skip('webhooks', 'no server has been started on this store yet')
      return
    }
    const since = Math.max(fromItsSecond(firstAt), store.now() - keptMs, this.#readTo - marginMs)
    try {
      const read = await this.#read(since, notes)
      const fetched = await this.#fetch(read.missing.toReversed(), notes)
      if (read.whole && fetched) this.#readTo = Math.max(this.#readTo, read.newestAt ?? 0)
    } catch (error) {
      if (!(error instanceof GitHubError)) throw error
      notes.skip('webhooks', wordsFor(error))
      if (error.kind !== 'rate_limited') return
      const until = (error.until ?? 0) - clock.wallMs() + store.now()
      await store.outbox.blockIdentity(identity, until, 'rate_limited')
    }
  }

  async #read(since: number, notes: CatchUpNotes): Promise<Read> {
    const { github, store, types } = this.#options
    const missing = new Map<string, HookDeliveryItem>()
    let newestAt: number | null = null
    let cursor: string | null = null
    for (let page = 0; page < pagesMax; page += 1) {
      const read = await github.hookDeliveries(cursor)
      if (read === null) {
        notes.skip('webhooks', 'only an App can ask what was sent to it')
        return { missing: [], newestAt, whole: false }
      }
      if (notes.isOver()) return { missing: [], newestAt, whole: false }
      newestAt ??= read.items[0]?.deliveredAt ?? null
      notes.deliveries += read.items.length
      const heard = read.items.filter(
        ({ event, action, deliveredAt }) =>
          deliveredAt >= since && isHeard({ name: event, action }, types),
      )
      const known = await store.catchUp.knownWebhooks([...new Set(heard.map(({ guid }) => guid))])
      // Each attempt to deliver one event is listed; any of them has all of it.
      for (const item of heard) if (!known.has(item.guid)) missing.set(item.guid, item)
      const last = read.items.at(-1)
      cursor = read.nextCursor
      if (cursor === null || last === undefined || last.deliveredAt < since) {
        return { missing: [...missing.values()], newestAt, whole: true }
      }
    }
    notes.skip('webhooks', `GitHub has sent more than ${pagesMax * 100}; the older were not read`)
    return { missing: [...missing.values()], newestAt, whole: true }
  }

  /** False when some are left for the next pass. */
  async #fetch(missing: readonly HookDeliveryItem[], notes: CatchUpNotes): Promise<boolean> {
    let all = missing.length <= fetchedMax
    for (const item of missing.slice(0, fetchedMax)) {
      if (notes.isOver() || !(await this.#fetchOne(item, notes))) all = false
    }
    return all
  }

  async #fetchOne(item: HookDeliveryItem, notes: CatchUpNotes): Promise<boolean> {
    const { github, intake } = this.#options
    const { id, guid, event } = item
    try {
      const sent = await github.hookDelivery(id)
      if (sent === null) {
        notes.skip(`webhook ${guid}`, 'GitHub has it no more')
        return true
      }
      const body = Buffer.from(JSON.stringify(sent.payload))
      const headers = tellingHeaders(sent.headers)
      const webhook = { webhookId: guid, event, headers, body, caughtUp: true }
      const { inboxId, decision } = await intake.receive(webhook)
      if (decision !== 'duplicate') notes.ingested += 1
      notes.entered.add(inboxId)
      return true
    } catch (error) {
      const isOwnFault = isGitHubError(error, 'unanswered', 'invalid', 'conflict')
      if (!isOwnFault && !(error instanceof InvalidInputError)) throw error
      notes.skip(`webhook ${guid}`, wordsFor(error))
      return !isOwnFault
    }
  }
}

/** As at the door: what tells of the delivery, and nothing of its signature. */
function tellingHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) => name.startsWith('x-github-') || name === 'user-agent' || name === 'content-type',
  )
  return Object.fromEntries(kept)
}
