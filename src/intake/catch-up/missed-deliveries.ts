/**
 * Finds webhooks that GitHub sent and that never arrived. Reads GitHub's record from the newest
 * webhook back to where the last pass began. Fetches what the inbox does not have, oldest first,
 * and passes it to intake.
 *
 * What must hold: the report names what could not be read or fetched, and the next pass, in any
 * process, tries again. The store keeps how far the record was read.
 */
import { InvalidInputError } from '../../errors.ts'
import type { GitHubCalls, GitHubListings, HookDeliveryItem } from '../../github.ts'
import { GitHubError, isGitHubError } from '../../github/errors.ts'
import type { OutboxStore } from '../../store/outbox-store.ts'
import type { CatchUpStore, DeliveriesRead } from '../../store/catch-up-store.ts'
import type { Clock } from '../../clock.ts'
import type { Store, StorePart } from '../../store.ts'
import {
  startOfSecond,
  limitEnd,
  waitText,
  errorText,
  type CatchUpNotes,
} from './catch-up-report.ts'
import type { Intake } from '../intake.ts'
import { UnfetchedDeliveries } from './unfetched-deliveries.ts'
import { mayMatter, type RunTypes } from '../events/route-event.ts'

/** How long GitHub keeps its record. The inbox is kept longer, so nothing is received twice. */
const keptMs = 3 * 24 * 60 * 60_000
/** A webhook may appear in GitHub's record some time after it was sent. */
const marginMs = 15 * 60_000
const pagesMax = 200
const fetchedMax = 2000
/** After this many failures in a row GitHub is probably down, and the pass stops asking. */
const failuresMax = 3
/**
 * How many pages are read before their webhooks are fetched. If GitHub sets a limit meanwhile, the
 * next pass reads at most these pages again.
 */
const stepPages = 20

export interface MissedDeliveriesOptions {
  readonly github: Pick<GitHubListings, 'hookDeliveries' | 'hookDelivery'> &
    Pick<GitHubCalls, 'ownIdentity'>
  readonly store: StorePart<{ upkeep: 'firstStartedAt' }> &
    Pick<Store, 'now'> & {
      readonly catchUp: Pick<
        CatchUpStore,
        'knownWebhooks' | 'deliveriesRead' | 'noteDeliveriesRead'
      >
      readonly outbox: Pick<OutboxStore, 'blockedUntil' | 'blockIdentity'>
    }
  readonly intake: Pick<Intake, 'receive'>
  readonly types: RunTypes
  readonly clock: Clock
}

/** What a pass may still do. At zero it ends, and the next pass goes on. */
interface Remaining {
  pages: number
  fetches: number
  /** How many webhooks in a row GitHub could not return. */
  failures: number
  readonly unfetched: UnfetchedDeliveries
}

interface RangeRead {
  /** Where to go on; null when everything was read. */
  readonly cursor: string | null
  readonly newestAt: number | null
}

const isUsedUp = ({ fetches, failures }: Remaining): boolean =>
  fetches <= 0 || failures >= failuresMax

/** The fields of a webhook that are not stored while it is unfetched. */
const notStored = { action: null, answered: null } as const
const tooManyText = 'too many for one pass; the next pass goes on with them'

export class MissedDeliveries {
  readonly #options: MissedDeliveriesOptions

  constructor(options: MissedDeliveriesOptions) {
    this.#options = options
  }

  async pass(notes: CatchUpNotes): Promise<void> {
    const { store, clock, github } = this.#options
    const blockedUntil = await store.outbox.blockedUntil(github.ownIdentity)
    if (blockedUntil !== null) {
      notes.skip('webhooks', waitText(blockedUntil))
      return
    }
    const firstAt = await store.upkeep.firstStartedAt()
    if (firstAt === null) {
      notes.leaveOut('webhooks', 'no server has been started on this store yet')
      return
    }
    const oldest = Math.max(startOfSecond(firstAt), store.now() - keptMs)
    try {
      await this.#readAll(oldest, notes)
    } catch (error) {
      if (!(error instanceof GitHubError)) throw error
      notes.skip('webhooks', errorText(error))
      if (error.kind !== 'rate_limited') return
      const until = limitEnd(error, clock, store)
      await store.outbox.blockIdentity(github.ownIdentity, until, 'rate_limited', 'catch-up')
    }
  }

  /** Reads what was sent since the last pass, then what earlier passes did not reach. */
  async #readAll(oldest: number, notes: CatchUpNotes): Promise<void> {
    const { catchUp } = this.#options.store
    const before = (await catchUp.deliveriesRead()) ?? { to: 0, gap: null }
    const unfetched = new UnfetchedDeliveries(before.owed ?? [])
    const remaining: Remaining = { pages: pagesMax, fetches: fetchedMax, failures: 0, unfetched }
    let lastStored: DeliveriesRead = before
    const storeRead = async (read: DeliveriesRead): Promise<void> => {
      lastStored = read
      const { items } = unfetched
      await catchUp.noteDeliveriesRead(items.length === 0 ? read : { ...read, owed: items })
      unfetched.noteStored()
    }
    try {
      await this.#readRecord(before, oldest, remaining, notes, storeRead)
      await this.#fetchUnfetched(oldest, remaining, notes)
    } finally {
      const { to, gap } = lastStored
      if (unfetched.isChanged) await storeRead({ to, gap })
    }
  }

  async #readRecord(
    { to, gap }: DeliveriesRead,
    oldest: number,
    remaining: Remaining,
    notes: CatchUpNotes,
    storeRead: (read: DeliveriesRead) => Promise<void>,
  ): Promise<void> {
    const lowerLimit = (at: number): number => Math.max(oldest, at - marginMs)
    // The gap goes from the cursor down to `to`, so it also covers an earlier gap.
    const storeGap = (cursor: string, from: number): Promise<void> =>
      storeRead({ to, gap: { cursor, from } })
    const newest = await this.#readRange(
      null,
      lowerLimit(gap?.from ?? to),
      remaining,
      notes,
      storeGap,
    )
    if (newest === null) {
      notes.leaveOut('webhooks', 'only a GitHub App can read what GitHub sent')
      return
    }
    const { cursor, newestAt } = newest
    if (cursor !== null && newestAt !== null) {
      await storeGap(cursor, newestAt)
      return
    }
    if (notes.isStopping()) return
    if (gap === null) {
      if (newestAt !== null) await storeRead({ to: newestAt, gap: null })
      return
    }
    const from = newestAt ?? gap.from
    await storeGap(gap.cursor, from)
    try {
      const storeCursor = (reached: string): Promise<void> => storeGap(reached, from)
      const older = await this.#readRange(gap.cursor, lowerLimit(to), remaining, notes, storeCursor)
      if (older !== null && older.cursor !== null) await storeCursor(older.cursor)
      else if (!notes.isStopping()) await storeRead({ to: from, gap: null })
    } catch (error) {
      if (!isGitHubError(error, 'invalid', 'not_found')) throw error
      notes.skip(
        'older webhooks',
        'GitHub no longer knows our place in the list; the next pass starts at the newest',
      )
      await storeRead({ to, gap: null })
    }
  }

  /**
   * Reads in steps. The webhooks of one step are fetched, oldest first, before the next step is
   * read, so a failure later loses nothing that was read. Null when we are not an App.
   */
  async #readRange(
    begin: string | null,
    since: number,
    remaining: Remaining,
    notes: CatchUpNotes,
    storeCursor: (cursor: string, newestAt: number) => Promise<void>,
  ): Promise<RangeRead | null> {
    let cursor = begin
    let newestAt: number | null = null
    /** The first step with a webhook that could not be fetched: the next pass reads from there. */
    let firstFailed: { readonly cursor: string | null } | null = null
    for (;;) {
      const read = await this.#readStep(cursor, since, remaining, notes)
      if (read === null) return null
      newestAt ??= read.newestAt
      if (!(await this.#fetch(read.missing.toReversed(), remaining, notes)))
        firstFailed ??= { cursor }
      cursor = read.nextCursor
      const isFull = remaining.pages <= 0 || isUsedUp(remaining)
      if (isFull && (cursor !== null || firstFailed !== null))
        notes.skip('older webhooks', tooManyText)
      if (cursor === null || isFull || notes.isStopping()) break
      if (firstFailed === null && newestAt !== null) await storeCursor(cursor, newestAt)
    }
    if (firstFailed === null) return { cursor, newestAt }
    // If the very first step failed, the next pass begins there anyway.
    return { cursor: firstFailed.cursor, newestAt: firstFailed.cursor === null ? null : newestAt }
  }

  async #readStep(begin: string | null, since: number, remaining: Remaining, notes: CatchUpNotes) {
    const { github, store, types } = this.#options
    const missing = new Map<string, HookDeliveryItem>()
    let newestAt: number | null = null
    let cursor = begin
    for (let page = 0; page < stepPages; page += 1) {
      const read = await github.hookDeliveries(cursor)
      if (read === null) return null
      remaining.pages -= 1
      newestAt ??= read.items[0]?.deliveredAt ?? null
      notes.deliveries += read.items.length
      const wanted = read.items.filter(
        ({ event, action, deliveredAt }) =>
          deliveredAt >= since && mayMatter({ name: event, action }, types),
      )
      const known = await store.catchUp.knownWebhooks([...new Set(wanted.map(({ guid }) => guid))])
      // GitHub lists each try to deliver an event; any of them has the whole event.
      for (const item of wanted) {
        const isUnfetched = remaining.unfetched.has(item.guid)
        if (!known.has(item.guid) && !isUnfetched) missing.set(item.guid, item)
      }
      const last = read.items.at(-1)
      cursor = last === undefined || last.deliveredAt < since ? null : read.nextCursor
      if (cursor === null || remaining.pages <= 0 || notes.isStopping()) break
    }
    return { missing: [...missing.values()], newestAt, nextCursor: cursor }
  }

  /** False when some remain for the next pass. */
  async #fetch(
    missing: readonly HookDeliveryItem[],
    remaining: Remaining,
    notes: CatchUpNotes,
  ): Promise<boolean> {
    let areAllFetched = true
    for (const item of missing) {
      if (notes.isStopping() || isUsedUp(remaining)) return false
      if (await this.#fetchOne(item, remaining, notes)) continue
      if (!remaining.unfetched.add(item, this.#options.store.now())) areAllFetched = false
    }
    return areAllFetched
  }

  /** Tries again what earlier passes could not fetch. Runs last, so that no new webhook waits. */
  async #fetchUnfetched(oldest: number, remaining: Remaining, notes: CatchUpNotes): Promise<void> {
    const { store } = this.#options
    const due = remaining.unfetched.due(store.now())
    const known = await store.catchUp.knownWebhooks(due.map(({ guid }) => guid))
    for (const item of due) {
      const { guid, deliveredAt } = item
      if (known.has(guid)) remaining.unfetched.remove(guid)
      else if (deliveredAt < oldest) {
        notes.skip(`webhook ${guid}`, 'given up: GitHub could not give it and no longer keeps it')
        remaining.unfetched.remove(guid)
      } else if (notes.isStopping() || isUsedUp(remaining)) return
      else if (await this.#fetchOne({ ...item, ...notStored }, remaining, notes))
        remaining.unfetched.remove(guid)
      else remaining.unfetched.add({ ...item, ...notStored }, store.now())
    }
  }

  /** False when GitHub could not return it. */
  async #fetchOne(
    item: HookDeliveryItem,
    remaining: Remaining,
    notes: CatchUpNotes,
  ): Promise<boolean> {
    const { github, intake } = this.#options
    const { id, guid, event, answered } = item
    remaining.fetches -= 1
    try {
      const sent = await github.hookDelivery(id)
      remaining.failures = 0
      if (sent === null) {
        notes.skip(`webhook ${guid}`, 'GitHub no longer has it')
        return true
      }
      const body = Buffer.from(JSON.stringify(sent.payload))
      const headers = keptHeaders(sent.headers)
      const webhook = { webhookId: guid, event, headers, body, caughtUp: true, answered }
      const { inboxId, decision } = await intake.receive(webhook)
      if (decision !== 'duplicate') notes.ingested += 1
      notes.inboxIds.add(inboxId)
      return true
    } catch (error) {
      const isRefused = error instanceof InvalidInputError
      if (!isRefused && !(error instanceof GitHubError)) throw error
      // Every other question would get the same answer.
      if (isGitHubError(error, 'rate_limited', 'unauthorized')) throw error
      notes.skip(`webhook ${guid}`, errorText(error))
      if (!isRefused) remaining.failures += 1
      return isRefused
    }
  }
}

/** The same headers as for a received webhook: without the signature. */
function keptHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) => name.startsWith('x-github-') || name === 'user-agent' || name === 'content-type',
  )
  return Object.fromEntries(kept)
}
