/** Collects what a pass of catch-up found, and makes its report. */
import type { Clock } from '../../clock.ts'
import type { InboxEntry } from '../../domain/inbox.ts'
import { isGitHubError, type GitHubError } from '../../github/errors.ts'

export interface CatchUpReport {
  /** Webhooks that never arrived and were fetched. */
  readonly ingested: number
  /** Pull requests that differed from what we knew. */
  readonly reconciled: number
  readonly runsMade: readonly string[]
  readonly runsCancelled: readonly string[]
  readonly lookedAt: {
    readonly deliveries: number
    readonly repositories: number
    readonly pullRequests: number
  }
  /** What was not checked or not fetched, and why. */
  readonly skipped: readonly Skipped[]
}

export interface Skipped {
  readonly what: string
  readonly reason: string
}

/** The claim reasons that mean: there is a run to work on now. */
const reasonsWithRun = new Set([
  'new',
  'superseded-prior',
  'retry',
  'returned',
  'queued',
  'reclaimed',
])
const skippedMax = 100

export class CatchUpNotes {
  /** True when the process stops: the next pass does what remains. */
  readonly isStopping: () => boolean
  readonly #skipped: Skipped[] = []
  #omittedCount = 0
  #isComplete = true
  readonly #runsMade: string[] = []
  readonly #runsCancelled: string[] = []
  readonly inboxIds = new Set<string>()
  ingested = 0
  reconciled = 0
  deliveries = 0
  repositories = 0
  pullRequests = 0

  constructor(isStopping: () => boolean) {
    this.isStopping = isStopping
  }

  /** Something should have been checked and was not. */
  skip(what: string, reason: string): void {
    this.#isComplete = false
    this.leaveOut(what, reason)
  }

  /** Something cannot be checked in this set-up. It is named, but the pass is still complete. */
  leaveOut(what: string, reason: string): void {
    if (this.#skipped.length < skippedMax) this.#skipped.push({ what, reason })
    else this.#omittedCount += 1
  }

  /** False when something that should have been checked was skipped. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  addDecided({ outcomes }: InboxEntry): void {
    for (const { result, reason, runIds } of outcomes) {
      if (result === 'claimed' && reasonsWithRun.has(reason)) this.#runsMade.push(...runIds)
      if (result === 'cancelled') this.#runsCancelled.push(...runIds)
    }
  }

  #andMore(): Skipped {
    return { what: `${this.#omittedCount} more`, reason: 'the list is full' }
  }

  report(): CatchUpReport {
    const { ingested, reconciled, deliveries, repositories, pullRequests } = this
    return {
      ingested,
      reconciled,
      runsMade: this.#runsMade,
      runsCancelled: this.#runsCancelled,
      lookedAt: { deliveries, repositories, pullRequests },
      skipped: this.#omittedCount === 0 ? this.#skipped : [...this.#skipped, this.#andMore()],
    }
  }
}

/** Safe to show: the message of a GitHub error contains only our own words. */
export function errorText(error: unknown): string {
  if (isGitHubError(error, 'rate_limited')) return 'GitHub asks us to wait'
  return error instanceof Error ? error.message : 'GitHub could not be asked'
}

/** Most of GitHub's times are whole seconds, so a time in the same second may be after `at`. */
export const startOfSecond = (at: number): number => at - (at % 1000)

export const waitText = (at: number): string =>
  `GitHub asks us to wait until ${new Date(at).toISOString()}`

/** Used when GitHub names no time. */
const limitMs = 60_000

/** When the limit ends, by the store's clock. */
export function limitEnd(
  { until }: GitHubError,
  clock: Clock,
  store: { readonly now: () => number },
): number {
  return store.now() + (until === null ? limitMs : until - clock.wallMs())
}
