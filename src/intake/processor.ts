/**
 * Processes stored webhooks: after the answer, again after a crash, in order per lane.
 *
 *   received here ──▶ active ──▶ acts (asks GitHub) ──▶ finished, in one commit
 *   found waiting ──┘               └── cannot be decided now ──▶ postponed
 *
 * What must hold:
 *  - Nothing is done before the commit that finishes the entry. After a crash the entry still
 *    waits, and the next process finds it.
 *  - One entry per lane is active at a time.
 *  - A process with too many active entries, in total or of one repository, leaves the others in
 *    the store, where they are found later.
 *  - An entry that cannot be processed delays no other lane, and its own lane only for its first
 *    try.
 *  - Every failed try is counted, logged and, if the store can be written, stored with its reason.
 *    The number of tries is limited.
 */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import { repositoryKeyOf, type InboxEntry } from '../domain/inbox.ts'
import { StoreContendedError, StoreUnavailableError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Metrics, PutOffReason } from '../metrics.ts'
import type { RunsService } from '../runs/create-runs.ts'
import type { Scheduler } from '../scheduler.ts'
import { delay } from '../scheduler.ts'
import type { DecidedWebhook, FinishedWebhook, Store, StorePart } from '../store.ts'
import type { ActPlanner } from './acts.ts'
import { reasonWithoutRoutes } from './decide-at-arrival.ts'
import { GitHubNotAsked } from './asking/github-questions.ts'
import { Stopping } from './asking/question-limits.ts'
import { parsePayload, unpackBody } from './events/payload.ts'
import { FairSlots } from './fair-slots.ts'
import type { TypeRoute } from './events/route-event.ts'
import type { EventFacts } from './events/webhook-event.ts'
import { factsOf, readEvent } from './events/webhook-event.ts'

const sweepEveryMs = 1000
/** How long a sweep waits for entries. Then they stay active, and it goes on with others. */
const sweepPatienceMs = 1000
/** A sweep ends after this many reads without a new entry. The next sweep goes on from there. */
const idleReadsMax = 20
const lanesAfterMax = 1000
/** Entries beyond these are read from the store when their turn comes. */
const activeMax = { total: 4096, perRepository: 1024 }
/** Entries that were read from the store have their own slots. */
const foundMax = { total: 1024, perRepository: 64 }
const firstPauseMs = 1000
const pauseMsMax = 5 * 60 * 1000
/**
 * GitHub may ask for any wait; we check again after an hour, as an operator may have unblocked it.
 */
const askedPauseMsMax = 60 * 60 * 1000
/** For causes outside this program: GitHub does not answer, or the store is contended. */
const patienceMs = 24 * 60 * 60 * 1000
/** An old entry (after a downtime or a replay) gets this many tries before it is given up. */
const patientTriesMin = 10
/**
 * About nine minutes: longer than a short outage of GitHub or a change of permissions. After that a
 * person has to change something and replay the webhook.
 */
const hiddenTriesMin = 10
/** How often an entry may fail because of our own bug. After that it would fail again. */
const faultsMax = 5

type ProcessorStore = StorePart<{ inbox: 'due' | 'body' | 'finish' | 'postpone' }> &
  Pick<Store, 'now'>

export interface ProcessorOptions {
  readonly store: ProcessorStore
  readonly runs: Pick<RunsService, 'claimCommitted' | 'offerStarts' | 'runsEnded'>
  readonly acts: Pick<ActPlanner, 'routesFor' | 'actsFor' | 'askPull' | 'failuresFor'>
  readonly scheduler: Scheduler
  readonly log: Log
  readonly metrics: Metrics
}

interface ActiveEntry {
  readonly entry: InboxEntry
  readonly event: EventFacts
  readonly routes: readonly TypeRoute[]
}

export class Processor {
  readonly #options: ProcessorOptions
  readonly #loop: BackgroundLoop
  readonly #lanes = new Map<string, Promise<void>>()
  readonly #active = new Map<string, Promise<void>>()
  readonly #takenSlots = new FairSlots(activeMax)
  readonly #foundSlots = new FairSlots(foundMax)
  /** Where the next read of due entries goes on. */
  #after: string | null = null
  readonly #lanesAfter = new Map<string, string>()
  #stopping = false

  constructor(options: ProcessorOptions) {
    this.#options = options
    this.#loop = backgroundLoop({
      scheduler: options.scheduler,
      everyMs: sweepEveryMs,
      pass: () => this.#sweep(),
      onError: (error) =>
        options.log.error({ err: error }, 'Could not read the inbox; trying again'),
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Waits for what was begun; the next start finds the remaining entries. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#loop.stop()
    while (this.#active.size > 0) await Promise.all(this.#active.values())
  }

  /** Looks for waiting entries now, such as one that was just replayed. */
  kick(): Promise<void> {
    return this.#loop.kick()
  }

  /** Takes an entry that was just stored; it is processed as soon as its lane is free. */
  take(entry: InboxEntry, event: EventFacts, routes: readonly TypeRoute[]): void {
    if (this.#takenSlots.hasFree(repositoryKeyOf(entry)))
      void this.#enqueue({ entry, event, routes }, this.#takenSlots)
  }

  /** Resolves when this entry is no longer active here, or after `ms`. */
  async waitUntilDecided(entryId: string, ms: number): Promise<void> {
    const work = this.#active.get(entryId)
    if (work === undefined) return
    const waited = new AbortController()
    await Promise.race([work, delay(this.#options.scheduler, ms, waited.signal)])
    waited.abort()
  }

  #enqueue(item: ActiveEntry, slots: FairSlots): Promise<void> {
    const { id, lane } = item.entry
    const before = this.#lanes.get(lane)
    const leave = slots.take(repositoryKeyOf(item.entry))
    const work = (before ?? Promise.resolve())
      // It begins when the entries before it are done; after a stop the next start does it.
      .then(() => (before !== undefined && this.#stopping ? undefined : this.#process(item)))
      .finally(() => {
        leave()
        // An entry may be found and taken at the same moment; then only the later one stays active.
        if (this.#active.get(id) === work) this.#active.delete(id)
        if (this.#lanes.get(lane) === work) this.#lanes.delete(lane)
      })
    this.#lanes.set(lane, work)
    this.#active.set(id, work)
    return work
  }

  /** Goes on until every due entry of every repository is active. Begins each entry once. */
  async #sweep(): Promise<void> {
    const begun = new Set<string>()
    let [sinceStart, idle] = [0, 0]
    while (!this.#stopping && idle < idleReadsMax) {
      const newEntries = (await this.#due()).filter(
        ({ id }) => !begun.has(id) && !this.#active.has(id),
      )
      for (const { id } of newEntries) begun.add(id)
      await this.#processStored(newEntries)
      sinceStart += newEntries.length
      idle = newEntries.length === 0 ? idle + 1 : 0
      if (this.#after !== null) continue
      // All repositories were read. Read again only if finished entries may have freed a lane.
      if (sinceStart === 0) return
      sinceStart = 0
    }
  }

  /** A few entries of every repository, from where the last read ended. */
  async #due(): Promise<readonly InboxEntry[]> {
    const position = { after: this.#after, lanesAfter: this.#lanesAfter }
    const { entries, after, lanesTo } = await this.#options.store.inbox.due(position)
    // The map may contain repositories without entries. If it is too large it is emptied, and every
    // repository begins at its first lane.
    if (this.#lanesAfter.size > lanesAfterMax) this.#lanesAfter.clear()
    for (const [repository, lane] of lanesTo) {
      if (lane === null) this.#lanesAfter.delete(repository)
      else this.#lanesAfter.set(repository, lane)
    }
    this.#after = after
    return entries
  }

  /** Reads one body after the other: each may be 25 MB, and only its facts are kept. */
  async #processStored(entries: readonly InboxEntry[]): Promise<void> {
    const work: Promise<void>[] = []
    for (const entry of entries) {
      if (!this.#foundSlots.hasFree(repositoryKeyOf(entry))) continue
      const item = await this.#readStored(entry)
      if (item !== null) work.push(this.#enqueue(item, this.#foundSlots))
    }
    const waited = new AbortController()
    const patience = delay(this.#options.scheduler, sweepPatienceMs, waited.signal)
    await Promise.race([Promise.all(work), patience])
    waited.abort()
  }

  async #readStored(entry: InboxEntry): Promise<ActiveEntry | null> {
    try {
      const stored = await this.#options.store.inbox.body(entry.arrival)
      // Another process may have finished and purged it between our two reads.
      if (stored === null) return null
      const payload = parsePayload(unpackBody(stored.body))
      const event = readEvent(entry.webhookId, entry.event, payload)
      const routes = await this.#options.acts.routesFor(event)
      return { entry, event: factsOf(event), routes }
    } catch (error) {
      await this.#postponeSafely(entry, [], error)
      return null
    }
  }

  async #process({ entry, event, routes }: ActiveEntry): Promise<void> {
    try {
      await this.#decide(entry, event, routes)
    } catch (error) {
      if (error instanceof Stopping) return
      await this.#postponeSafely(entry, routes, error)
    }
  }

  async #postponeSafely(
    entry: InboxEntry,
    routes: readonly TypeRoute[],
    error: unknown,
  ): Promise<void> {
    try {
      await this.#postpone(entry, routes, error)
    } catch (failure) {
      this.#logPostponed(entry, failure, postponeReason(failure))
    }
  }

  async #decide(entry: InboxEntry, event: EventFacts, routes: readonly TypeRoute[]): Promise<void> {
    const { acts } = this.#options
    const { id: entryId, lane } = entry
    const decide = async (looked: boolean): Promise<DecidedWebhook> => {
      const pullNow = looked ? await acts.askPull(event) : null
      const plannedActs = await acts.actsFor(event, routes, pullNow)
      const reason = plannedActs.length === 0 ? reasonWithoutRoutes(event) : null
      return { entryId, lane, acts: plannedActs, reason, looked }
    }
    const { result } = await this.#finish(await decide(entry.needsLook))
    // Another event of the same second contradicts this one.
    if (result === 'look') await this.#finish(await decide(true))
  }

  async #finish(decided: DecidedWebhook): Promise<FinishedWebhook> {
    const { store, runs } = this.#options
    const offers = runs.offerStarts()
    try {
      const finished = await store.inbox.finish(decided, offers)
      for (const claim of finished.claims) offers.begin(claim)
      this.#afterCommit(finished)
      return finished
    } finally {
      offers.withdraw()
    }
  }

  /** Wakes whoever waits. Nothing is reported before the commit. */
  #afterCommit({ entry, claims, cancelled }: FinishedWebhook): void {
    const { store, runs, metrics, log } = this.#options
    for (const claim of claims) runs.claimCommitted(claim)
    if (cancelled.length > 0) runs.runsEnded(cancelled)
    if (entry === null) return
    const lagMs = store.now() - entry.receivedAt
    metrics.inboxProcessed(lagMs)
    const { id, webhookId, state, decision, reason } = entry
    const run_ids = entry.outcomes.flatMap(({ runIds }) => runIds)
    const about = { inbox_id: id, webhook_id: webhookId, run_ids, state, decision, reason, lagMs }
    if (state === 'failed') log.warn({ ...about, failed: failuresIn(entry) }, failureText(entry))
    else log.info(about, 'Webhook processed')
  }

  async #postpone(entry: InboxEntry, routes: readonly TypeRoute[], error: unknown): Promise<void> {
    const why = postponeReason(error)
    this.#logPostponed(entry, error, why)
    // The store cannot be written: the entry stays due and is found when the store is back.
    if (why === 'store') return
    const { store, acts } = this.#options
    const now = store.now()
    const isOverdue = now - entry.receivedAt > patienceMs && entry.tries >= patientTriesMin
    const hidden = staysHidden(entry, error)
    if (hidden !== null || (why === 'fault' ? entry.tries + 1 >= faultsMax : isOverdue)) {
      const reason = givenUpReasons[hidden === null ? why : 'hidden']
      const failures = acts.failuresFor(routes, reason, hidden)
      const { id: entryId, lane } = entry
      await this.#finish({ entryId, lane, acts: failures, reason, givenUp: true })
      return
    }
    const pauseMs = Math.min(pauseMsMax, firstPauseMs * 2 ** entry.tries)
    const notBefore = error instanceof GitHubNotAsked ? error.notBefore : 0
    const dueAt = Math.max(now + pauseMs, Math.min(notBefore, now + askedPauseMsMax))
    await store.inbox.postpone(entry.id, dueAt, postponeText(error))
  }

  #logPostponed({ id, webhookId, tries }: InboxEntry, error: unknown, why: PutOffReason): void {
    const { log, metrics } = this.#options
    metrics.inboxPutOff(why)
    const about = { err: error, inbox_id: id, webhook_id: webhookId, why, tries: tries + 1 }
    log.warn(about, 'Webhook not processed yet; trying again')
  }
}

/** The reason of a webhook that was given up, by what prevented it. */
export const givenUpReasons = {
  github: 'github-unavailable',
  hidden: 'repo-not-visible',
  contended: 'store-contended',
  fault: 'internal-error',
} as const

const failureWords: Readonly<Record<string, string>> = {
  'when-failed': 'a when rule threw an error',
  [givenUpReasons.github]: 'GitHub did not answer for a day',
  [givenUpReasons.hidden]: 'GitHub does not show us the repository',
  [givenUpReasons.contended]: 'the database was too busy for a day',
  [givenUpReasons.fault]: 'Holdfast itself failed several times',
}

function failuresIn({ outcomes }: InboxEntry): readonly object[] {
  const failed = outcomes.filter(({ result }) => result === 'failed')
  return failed.map(({ type, reason, detail }) => ({ type, reason, detail }))
}

function failureText({ id, reason }: InboxEntry): string {
  const why = failureWords[reason ?? ''] ?? 'it could not be processed'
  return `A webhook failed: ${why}. After you fixed the cause: holdfast inbox replay ${id}`
}

/**
 * GitHub's answer, if it has hidden the repository for long enough. The try before must have got
 * the same answer: after an outage one such answer proves nothing.
 */
function staysHidden({ tries, lastError }: InboxEntry, error: unknown): string | null {
  if (!(error instanceof GitHubNotAsked) || error.hidden === null) return null
  return tries + 1 >= hiddenTriesMin && lastError === error.message ? error.hidden : null
}

function postponeReason(error: unknown): PutOffReason {
  if (error instanceof GitHubNotAsked) return 'github'
  if (error instanceof StoreUnavailableError) return 'store'
  return error instanceof StoreContendedError ? 'contended' : 'fault'
}

function postponeText(error: unknown): string {
  if (error instanceof GitHubNotAsked) return error.message
  if (error instanceof StoreContendedError) return `the store is contended: ${error.message}`
  return 'internal error; see the log'
}
