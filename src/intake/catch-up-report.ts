/** What a pass of catch-up found, gathered while it goes. */
import type { Clock } from '../clock.ts'
import type { InboxEntry } from '../domain/inbox.ts'
import { isGitHubError, type GitHubError } from '../github/errors.ts'

export interface CatchUpReport {
  /** Webhooks that never came and were fetched. */
  readonly ingested: number
  /** Pull requests that were not as we knew them. */
  readonly reconciled: number
  readonly runsMade: readonly string[]
  readonly runsCancelled: readonly string[]
  readonly lookedAt: {
    readonly deliveries: number
    readonly repositories: number
    readonly pullRequests: number
  }
  /** What was not looked at or not taken, and why. */
  readonly skipped: readonly Skipped[]
}

export interface Skipped {
  readonly what: string
  readonly reason: string
}

/** Reasons of a claim that left a run to be worked on. */
const made = new Set(['new', 'superseded-prior', 'retry', 'returned', 'queued', 'reclaimed'])
const skippedMax = 100

export class CatchUpNotes {
  /** True when the process stops: what is left is for the next pass. */
  readonly isStopping: () => boolean
  readonly #skipped: Skipped[] = []
  #unnamed = 0
  #isWhole = true
  readonly #runsMade: string[] = []
  readonly #runsCancelled: string[] = []
  readonly entered = new Set<string>()
  ingested = 0
  reconciled = 0
  deliveries = 0
  repositories = 0
  pullRequests = 0

  constructor(isStopping: () => boolean) {
    this.isStopping = isStopping
  }

  /** What should have been looked at and was not. */
  skip(what: string, reason: string): void {
    this.#isWhole = false
    this.leaveOut(what, reason)
  }

  /** What cannot be looked at in this set-up: named, and nothing is missing for it. */
  leaveOut(what: string, reason: string): void {
    if (this.#skipped.length < skippedMax) this.#skipped.push({ what, reason })
    else this.#unnamed += 1
  }

  /** False when something that should have been looked at was skipped. */
  get isComplete(): boolean {
    return this.#isWhole
  }

  decided({ outcomes }: InboxEntry): void {
    for (const { result, reason, runIds } of outcomes) {
      if (result === 'claimed' && made.has(reason)) this.#runsMade.push(...runIds)
      if (result === 'cancelled') this.#runsCancelled.push(...runIds)
    }
  }

  #andMore(): Skipped {
    return { what: `${this.#unnamed} more`, reason: 'the list is full' }
  }

  report(): CatchUpReport {
    const { ingested, reconciled, deliveries, repositories, pullRequests } = this
    return {
      ingested,
      reconciled,
      runsMade: this.#runsMade,
      runsCancelled: this.#runsCancelled,
      lookedAt: { deliveries, repositories, pullRequests },
      skipped: this.#unnamed === 0 ? this.#skipped : [...this.#skipped, this.#andMore()],
    }
  }
}

/** In our own words; an error of GitHub's has nothing else in it. */
export function errorText(error: unknown): string {
  if (isGitHubError(error, 'rate_limited')) return 'GitHub asks to wait'
  return error instanceof Error ? error.message : 'GitHub could not be asked'
}

/** GitHub tells most times by the second: one within the second of `at` may be after it. */
export const startOfSecond = (at: number): number => at - (at % 1000)

export const waitText = (at: number): string =>
  `GitHub asks to wait until ${new Date(at).toISOString()}`

/** Where GitHub names no time. */
const limitMs = 60_000

/** Until when a limit holds, by the store's clock. */
export function limitEnd(
  { until }: GitHubError,
  clock: Clock,
  store: { readonly now: () => number },
): number {
  return store.now() + (until === null ? limitMs : until - clock.wallMs())
}
