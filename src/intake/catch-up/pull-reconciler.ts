/**
 * Compares pull requests on GitHub with what we know. A head without a webhook gets its run, and a
 * run whose pull request was closed without a webhook is cancelled. Checks only repositories that
 * send us webhooks, and only changes after this store's first start. Repositories without an event
 * for a month take turns, a few in each pass.
 *
 * What must hold: if an event arrived and led to nothing, nothing is started now. A list alone
 * cancels nothing: the pull request itself must say that it is closed. What a pass cannot finish is
 * named, and the next pass goes on with it.
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
import { missedOf, readPull, seenWebhook, type Missed } from './seen-pull.ts'
import { threadLane } from '../events/webhook-event.ts'

const usedWithinMs = 30 * 24 * 60 * 60_000
const repositoriesMax = 200
/** Of the repositories that were not used for longer. */
const quietMax = 10
const pagesMax = 10
/** GitHub's lists may be late. */
const marginMs = 15 * 60_000
/** How often everything is checked, not only what changed since the last pass. */
const wholeEveryMs = 60 * 60_000
/** How many pull requests that are not in the list are asked for, with one request each. */
const askedMax = 50

/** Any action will do to find the events of a pull request. */
const anything: Missed = { action: 'synchronize', baseWas: null }
const closing: Missed = { action: 'closed', baseWas: null }

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
  readonly acts: Pick<ActPlanner, 'routesFor' | 'isDoneOn'>
  readonly clock: Clock
}

interface Mark {
  /** By GitHub's clock: changes before this time were checked. */
  readonly changedAt: number
  readonly wholeAt: number
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
  readonly #marks = new Map<number, Mark>()

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
      await this.#safely(repository, since, notes)
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
      await this.#safely(repository, since, notes, (...about) => notes.leaveOut(...about))
      if (notes.isStopping()) return
      await catchUp.noteQuietLooked(repository)
    }
    if (next.length === 0) return
    const why = `no event for 30 days; each pass checks ${quietMax} of them`
    notes.leaveOut('more quiet repositories', `${why}; the next are ${next.join(', ')}`)
  }

  /** A repository that cannot be asked does not stop the others. */
  async #safely(
    of: UsedRepository,
    firstAt: number,
    notes: CatchUpNotes,
    leave: CatchUpNotes['skip'] = (...about) => notes.skip(...about),
  ): Promise<void> {
    const { github, store, clock } = this.#options
    const place = { repo: of.name, repoGithubId: of.githubId }
    // The App itself asks which installation the repository belongs to.
    let identity = github.ownIdentity
    try {
      let blockedUntil = await store.outbox.blockedUntil(identity)
      if (blockedUntil === null) {
        identity = await github.identityOf(place)
        blockedUntil = await store.outbox.blockedUntil(identity)
      }
      if (blockedUntil !== null) {
        leave(of.name, waitText(blockedUntil))
        return
      }
      notes.repositories += 1
      await this.#reconcile(place, firstAt, notes)
    } catch (error) {
      if (!(error instanceof GitHubError)) throw error
      leave(of.name, errorText(error))
      if (error.kind !== 'rate_limited') return
      const until = limitEnd(error, clock, store)
      await store.outbox.blockIdentity(identity, until, 'rate_limited', 'catch-up')
    }
  }

  /** After a stop the mark stays where it was. */
  async #reconcile(place: Place, firstAt: number, notes: CatchUpNotes): Promise<void> {
    const { store } = this.#options
    const mark = this.#marks.get(place.repoGithubId)
    const isDue = mark === undefined || Math.abs(store.now() - mark.wholeAt) > wholeEveryMs
    // One full check is finished before the next begins.
    const isWhole = mark === undefined || (isDue && mark.remainder === null)
    const since = isWhole ? firstAt : Math.max(firstAt, mark.changedAt - marginMs)
    const { listed, remainder } = await this.#changed(place, since, mark?.remainder ?? null, notes)
    notes.pullRequests += listed.length
    for (const pull of listed) {
      if (notes.isStopping()) return
      if (pull.state === 'open') await this.#checkOpen(place, pull, notes)
      else await this.#checkClosed(place, pull.number, notes)
    }
    if (remainder !== null) {
      notes.skip(place.repo, `more than ${pagesMax * 100} changed; the next pass goes on`)
    }
    const asksOn = mark?.askedTo ?? null
    const asks = isWhole || asksOn !== null
    const askedTo = asks ? await this.#checkActive(place, asksOn ?? 0, listed, notes) : null
    if (notes.isStopping()) return
    this.#marks.set(place.repoGithubId, {
      changedAt: Math.max(mark?.changedAt ?? firstAt, ...listed.map((pull) => pull.updatedAt)),
      wholeAt: isWhole ? store.now() : mark.wholeAt,
      remainder,
      askedTo,
    })
  }

  /** What changed since then, followed by what an earlier pass did not read. */
  async #changed(place: Place, since: number, left: Remainder | null, notes: CatchUpNotes) {
    const first = await this.#pages(place, { page: 1, since }, notes)
    // If the list is too long again, the next pass goes on from there and reaches the others too.
    const goesOn = first.remainder === null && left !== null
    const more = goesOn ? await this.#pages(place, left, notes) : { listed: [], remainder: null }
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
  async #pages(place: Place, from: Remainder, notes: CatchUpNotes): Promise<PagesRead> {
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
    if ((await this.#wantedBy(place, pull)).length === 0) return
    // The list may be older than our newest event, so GitHub is asked for the pull request itself.
    const now = await this.#options.github.pull(place, pull.number)
    if (now?.state !== 'open') return
    for (const missed of await this.#wantedBy(place, now)) {
      await this.#enter(place, now, missed, notes)
    }
  }

  /** The missed events that explain its state, as far as some run type starts on them. */
  async #wantedBy(place: Place, pull: ListedPull): Promise<readonly Missed[]> {
    const { store, acts } = this.#options
    const received = await lastReceived(store, readPull(place, pull, anything))
    const subjects = await store.runs.subjectsOf(place.repo, pull.number, place.repoGithubId)
    const served = new Set<string>()
    const wanted: Missed[] = []
    for (const missed of missedOf(pull, received, subjects)) {
      const event = readPull(place, pull, missed)
      const servedBefore = served.size
      for (const route of await acts.routesFor(event)) {
        const starts = route.to === 'start' || route.to === 'skip' || route.to === 'failure'
        if (starts && !(await acts.isDoneOn(event, route))) served.add(route.type)
      }
      // One missed event is enough for each type.
      if (served.size > servedBefore) wanted.push(missed)
    }
    return wanted
  }

  async #checkClosed(place: Place, number: number, notes: CatchUpNotes): Promise<void> {
    const { store, github } = this.#options
    if (!(await this.#isWorkedOn(place, number))) return
    if (await wasClosingReceived(store, threadLane(place.repoGithubId, number))) return
    const pull = await github.pull(place, number)
    if (pull?.state === 'closed') await this.#enter(place, pull, closing, notes)
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

  async #enter(place: Place, pull: ListedPull, missed: Missed, notes: CatchUpNotes): Promise<void> {
    const webhook = seenWebhook(place, pull, missed)
    const { inboxId, decision } = await this.#options.intake.receive(webhook)
    if (decision === 'duplicate') return
    notes.reconciled += 1
    notes.entered.add(inboxId)
  }
}
