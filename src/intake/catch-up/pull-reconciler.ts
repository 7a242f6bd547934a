/**
 * Compares pull requests on GitHub with what we know. If the webhook of a new head was lost, the
 * head gets its run. If the webhook of a closed pull request was lost, its run is cancelled. Checks
 * only repositories that send us webhooks, and only changes after this store's first start.
 * Repositories without an event for a month take turns, a few in each pass.
 *
 * What must hold: if an event arrived and led to nothing, nothing is started now. A list alone
 * cancels nothing: GitHub is asked for the pull request itself, and must answer that it is closed.
 * The report names what a pass cannot finish, and the next pass goes on with it.
 */
import type { CatchUpStore, UsedRepository } from '../../store/catch-up-store.ts'
import type { Clock } from '../../clock.ts'
import type { GitHubCalls, GitHubListings, ListedPull, RepositoryRef } from '../../github.ts'
import { GitHubError } from '../../github/errors.ts'
import type { OutboxStore } from '../../store/outbox-store.ts'
import type { ActiveState, Page, Store, StorePart } from '../../store.ts'
import type { ActPlanner } from '../acts.ts'
import {
  startOfSecond,
  limitEnd,
  waitText,
  errorText,
  type CatchUpNotes,
} from './catch-up-report.ts'
import type { Intake } from '../intake.ts'
import { lastReceived, wasClosingReceived, type ReceivedStore } from './last-received.ts'
import {
  missedEventsOf,
  readMissedEvent,
  missedWebhook,
  type MissedEvent,
} from './missed-events.ts'
import { threadLane } from '../events/webhook-event.ts'

const usedWithinMs = 30 * 24 * 60 * 60_000
const repositoriesMax = 200
/** How many repositories that were not used for longer are checked in one pass. */
const quietMax = 10
const pagesMax = 10
/** GitHub's lists may show a change some time after it happened. */
const marginMs = 15 * 60_000
/** How often everything is checked, not only what changed since the last pass. */
const fullCheckEveryMs = 60 * 60_000
/** How many pull requests that are not in the list are asked for, with one request each. */
const askedMax = 50

/** Used to find the stored events of a pull request. The action makes no difference for that. */
const anyEvent: MissedEvent = { action: 'synchronize', baseWas: null }
const closedEvent: MissedEvent = { action: 'closed', baseWas: null }

type ReconcilerStore = ReceivedStore &
  StorePart<{ upkeep: 'firstStartedAt'; runs: 'subjectsOf' | 'ahead' | 'list' }> &
  Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'blockedUntil' | 'blockIdentity'>
    readonly catchUp: Pick<
      CatchUpStore,
      'repositoriesInUse' | 'noteLooked' | 'quietRepositories' | 'noteQuietLooked'
    >
  }

export interface PullReconcilerOptions {
  readonly github: Pick<GitHubListings, 'pulls' | 'pull'> &
    Pick<GitHubCalls, 'identityOf' | 'ownIdentity'>
  readonly store: ReconcilerStore
  readonly intake: Pick<Intake, 'receive'>
  readonly acts: Pick<ActPlanner, 'routesFor' | 'needsNoRun'>
  readonly clock: Clock
}

/** How far a repository was checked. */
interface Progress {
  /** By GitHub's clock: changes before this time were checked. */
  readonly changedAt: number
  readonly fullCheckAt: number
  /** The part of the list that one pass could not read. */
  readonly remainder: Remainder | null
  /** The last pull request that was asked for because the list does not have it. */
  readonly askedTo: number | null
}

/** Where to go on with a list that was too long for one pass. */
interface Remainder {
  readonly page: number
  readonly since: number
}

interface PagesRead {
  readonly listed: readonly ListedPull[]
  readonly remainder: Remainder | null
}

interface Place extends RepositoryRef {
  readonly repoGithubId: number
}

export class PullReconciler {
  readonly #options: PullReconcilerOptions
  readonly #progress = new Map<number, Progress>()

  constructor(options: PullReconcilerOptions) {
    this.#options = options
  }

  async pass(notes: CatchUpNotes): Promise<void> {
    const { store } = this.#options
    const firstAt = await store.upkeep.firstStartedAt()
    if (firstAt === null) return
    const since = startOfSecond(firstAt)
    const usedSince = store.now() - usedWithinMs
    const { items, left } = await store.catchUp.repositoriesInUse(usedSince, repositoriesMax)
    for (const repository of items) {
      if (notes.isStopping()) return
      await this.#reconcileSafely(repository, since, notes)
      // After a stop in the middle, the next pass begins with this repository.
      if (notes.isStopping()) return
      await store.catchUp.noteLooked(repository.githubId)
    }
    if (left > 0) notes.skip(`${left} more repositories`, 'the next pass begins with them')
    await this.#checkQuiet(usedSince, since, notes)
  }

  /** Many quiet repositories no longer exist: one that cannot be asked is only named. */
  async #checkQuiet(usedSince: number, firstAt: number, notes: CatchUpNotes): Promise<void> {
    const { catchUp } = this.#options.store
    const { items, next } = await catchUp.quietRepositories(usedSince, quietMax)
    for (const repository of items) {
      if (notes.isStopping()) return
      // Earlier changes were checked while the repository was in use.
      const since = Math.max(firstAt, startOfSecond(repository.usedAt))
      await this.#reconcileSafely(repository, since, notes, (...about) => notes.leaveOut(...about))
      if (notes.isStopping()) return
      await catchUp.noteQuietLooked(repository)
    }
    if (next.length === 0) return
    const why = `no event for 30 days; each pass checks ${quietMax} of them`
    notes.leaveOut('more quiet repositories', `${why}; the next are ${next.join(', ')}`)
  }

  /** A repository that cannot be asked does not stop the others. */
  async #reconcileSafely(
    repository: UsedRepository,
    firstAt: number,
    notes: CatchUpNotes,
    report: CatchUpNotes['skip'] = (...about) => notes.skip(...about),
  ): Promise<void> {
    const { github, store, clock } = this.#options
    const place = { repo: repository.name, repoGithubId: repository.githubId }
    // The App itself asks which installation the repository belongs to.
    let identity = github.ownIdentity
    try {
      let blockedUntil = await store.outbox.blockedUntil(identity)
      if (blockedUntil === null) {
        identity = await github.identityOf(place)
        blockedUntil = await store.outbox.blockedUntil(identity)
      }
      if (blockedUntil !== null) {
        report(repository.name, waitText(blockedUntil))
        return
      }
      notes.repositories += 1
      await this.#reconcile(place, firstAt, notes)
    } catch (error) {
      if (!(error instanceof GitHubError)) throw error
      report(repository.name, errorText(error))
      if (error.kind !== 'rate_limited') return
      const until = limitEnd(error, clock, store)
      await store.outbox.blockIdentity(identity, until, 'rate_limited', 'catch-up')
    }
  }

  /** If the process stops in the middle, the progress is not stored. */
  async #reconcile(place: Place, firstAt: number, notes: CatchUpNotes): Promise<void> {
    const { store } = this.#options
    const progress = this.#progress.get(place.repoGithubId)
    const isDue =
      progress === undefined || Math.abs(store.now() - progress.fullCheckAt) > fullCheckEveryMs
    // One full check is finished before the next begins.
    const isFullCheck = progress === undefined || (isDue && progress.remainder === null)
    const since = isFullCheck ? firstAt : Math.max(firstAt, progress.changedAt - marginMs)
    const { listed, remainder } = await this.#changedPulls(
      place,
      since,
      progress?.remainder ?? null,
      notes,
    )
    notes.pullRequests += listed.length
    for (const pull of listed) {
      if (notes.isStopping()) return
      if (pull.state === 'open') await this.#checkOpen(place, pull, notes)
      else await this.#checkClosed(place, pull.number, notes)
    }
    if (remainder !== null) {
      notes.skip(place.repo, `more than ${pagesMax * 100} changed; the next pass goes on`)
    }
    const askedBefore = progress?.askedTo ?? null
    const checksActive = isFullCheck || askedBefore !== null
    const askedTo = checksActive
      ? await this.#checkActive(place, askedBefore ?? 0, listed, notes)
      : null
    if (notes.isStopping()) return
    this.#progress.set(place.repoGithubId, {
      changedAt: Math.max(progress?.changedAt ?? firstAt, ...listed.map((pull) => pull.updatedAt)),
      fullCheckAt: isFullCheck ? store.now() : progress.fullCheckAt,
      remainder,
      askedTo,
    })
  }

  /** The pull requests that changed since then, followed by those an earlier pass did not read. */
  async #changedPulls(place: Place, since: number, left: Remainder | null, notes: CatchUpNotes) {
    const first = await this.#readPages(place, { page: 1, since }, notes)
    // If these are too many again, the next pass goes on from there and reaches the others too.
    const goesOn = first.remainder === null && left !== null
    const more = goesOn
      ? await this.#readPages(place, left, notes)
      : { listed: [], remainder: null }
    const remainder = first.remainder ?? more.remainder
    const all = [...first.listed, ...more.listed]
    return {
      // Two pages overlap when something changes between them.
      listed: [...new Map(all.map((pull) => [pull.number, pull])).values()],
      remainder: remainder && {
        ...remainder,
        since: Math.min(remainder.since, left?.since ?? remainder.since),
      },
    }
  }

  /** A changed pull request moves to the front, so unread ones are on this page or a later one. */
  async #readPages(place: Place, from: Remainder, notes: CatchUpNotes): Promise<PagesRead> {
    const { since } = from
    const listed: ListedPull[] = []
    for (let page = from.page; page < from.page + pagesMax; page += 1) {
      if (notes.isStopping()) break
      const { items, more } = await this.#options.github.pulls(place, page)
      listed.push(...items.filter(({ updatedAt }) => updatedAt >= since))
      const last = items.at(-1)
      if (!more || last === undefined || last.updatedAt < since) return { listed, remainder: null }
    }
    return { listed, remainder: { page: from.page + pagesMax, since } }
  }

  async #checkOpen(place: Place, pull: ListedPull, notes: CatchUpNotes): Promise<void> {
    if ((await this.#missedStarts(place, pull)).length === 0) return
    // The list may be older than our newest event, so GitHub is asked for the pull request itself.
    const now = await this.#options.github.pull(place, pull.number)
    if (now?.state !== 'open') return
    for (const missed of await this.#missedStarts(place, now)) {
      await this.#receive(place, now, missed, notes)
    }
  }

  /** The missed events that explain the pull request's state and on which a run type starts. */
  async #missedStarts(place: Place, pull: ListedPull): Promise<readonly MissedEvent[]> {
    const { store, acts } = this.#options
    const received = await lastReceived(store, readMissedEvent(place, pull, anyEvent))
    const subjects = await store.runs.subjectsOf(place.repo, pull.number, place.repoGithubId)
    const servedTypes = new Set<string>()
    const wanted: MissedEvent[] = []
    for (const missed of missedEventsOf(pull, received, subjects)) {
      const event = readMissedEvent(place, pull, missed)
      const servedBefore = servedTypes.size
      for (const route of await acts.routesFor(event)) {
        const starts = route.to === 'start' || route.to === 'skip' || route.to === 'failure'
        if (starts && !(await acts.needsNoRun(event, route))) servedTypes.add(route.type)
      }
      // Each type needs only one of the missed events.
      if (servedTypes.size > servedBefore) wanted.push(missed)
    }
    return wanted
  }

  async #checkClosed(place: Place, number: number, notes: CatchUpNotes): Promise<void> {
    const { store, github } = this.#options
    if (!(await this.#isWorkedOn(place, number))) return
    if (await wasClosingReceived(store, threadLane(place.repoGithubId, number))) return
    const pull = await github.pull(place, number)
    if (pull?.state === 'closed') await this.#receive(place, pull, closedEvent, notes)
  }

  async #isWorkedOn({ repo, repoGithubId }: Place, number: number): Promise<boolean> {
    const { store } = this.#options
    for (const { id } of await store.runs.subjectsOf(repo, number, repoGithubId)) {
      if ((await store.runs.ahead(id)) !== null) return true
    }
    return false
  }

  /**
   * Checks active runs whose pull request is not in the list because it changed too long ago: some
   * in each pass, by number. Returns the last number that was asked for, or null if all were.
   */
  async #checkActive(
    place: Place,
    after: number,
    listed: readonly ListedPull[],
    notes: CatchUpNotes,
  ): Promise<number | null> {
    const numbers = await this.#activeNumbers(place)
    for (const { number } of listed) numbers.delete(number)
    const left = [...numbers].filter((number) => number > after).toSorted((a, b) => a - b)
    const asked = left.slice(0, askedMax)
    for (const number of asked) {
      if (notes.isStopping()) return null
      await this.#checkClosed(place, number, notes)
    }
    if (left.length <= askedMax) return null
    const count = left.length - askedMax
    notes.skip(`${count} more pull requests of ${place.repo}`, 'the next pass goes on with them')
    return asked.at(-1) ?? null
  }

  async #activeNumbers({ repo, repoGithubId: repoId }: Place): Promise<Set<number>> {
    const { store } = this.#options
    const numbers = new Set<number>()
    const states: readonly ActiveState[] = ['pending', 'running', 'waiting']
    for (const state of states) {
      let cursor: string | null = null
      do {
        const page: Page = { limit: 1000, cursor }
        const { items, nextCursor } = await store.runs.list({ repo, repoId, state }, page)
        for (const { pr } of items) if (pr !== null) numbers.add(pr)
        cursor = nextCursor
      } while (cursor !== null)
    }
    return numbers
  }

  async #receive(
    place: Place,
    pull: ListedPull,
    missed: MissedEvent,
    notes: CatchUpNotes,
  ): Promise<void> {
    const webhook = missedWebhook(place, pull, missed)
    const { inboxId, decision } = await this.#options.intake.receive(webhook)
    if (decision === 'duplicate') return
    notes.reconciled += 1
    notes.inboxIds.add(inboxId)
  }
}
