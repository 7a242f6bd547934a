/**
 * Where the world itself kept something from being shown: a locked thread, a lost permission, an
 * operator who said to leave it. An excuse covers the target it belongs to and no other.
 */
import type { VirtualTime } from './virtual-time.ts'

interface Refusal {
  readonly repositoryId: number
  /** Null for all of the repository. */
  readonly thread: number | null
  readonly from: number
  /** Null while it lasts. */
  until: number | null
}

/** Until a refusal is known: a node may stand still with the answer, and look again. */
const noticedWithinMs = 120_000

interface FailedDelivery {
  readonly deliveryId: string
  readonly repositoryId: number
  /** Null for refusals that are for all of the repository. */
  readonly threads: readonly (number | null)[]
  /** For what was not there any more when all of it was asked for again. */
  readonly includeRetired: boolean
}

export class Excuses {
  readonly #time: VirtualTime
  #refusals: Refusal[] = []
  #retired: readonly Refusal[] = []
  readonly #failedAt = new Map<string, number>()
  readonly #closedByOperator = new Set<string>()
  readonly #visibleAt = new Map<string, number>()
  readonly #claimedRepositories = new Map<string, number>()

  constructor(time: VirtualTime) {
    this.#time = time
  }

  /** From now on GitHub refuses writes there. */
  refusalBegan(repositoryId: number, thread: number | null): void {
    this.#refusals.push({ repositoryId, thread, from: this.#time.trueMs(), until: null })
  }

  /** And now no longer. */
  refusalEnded(repositoryId: number, thread: number | null): void {
    for (const one of this.#refusals) {
      const isThis = one.repositoryId === repositoryId && one.thread === thread
      if (isThis) one.until ??= this.#time.trueMs()
    }
  }

  /** It was given up just now. */
  deliveryFailed(deliveryId: string): void {
    this.#failedAt.set(deliveryId, this.#time.trueMs())
  }

  /** Whether it was given up while, or right after, GitHub refused writes there. */
  failedByRefusal({ deliveryId, repositoryId, threads, includeRetired }: FailedDelivery): boolean {
    const at = this.#failedAt.get(deliveryId) ?? -Infinity
    return [...this.#refusals, ...(includeRetired ? this.#retired : [])].some(
      ({ from, until, ...one }) => {
        const isThere = one.repositoryId === repositoryId && threads.includes(one.thread)
        return isThere && at >= from && at <= (until ?? at) + noticedWithinMs
      },
    )
  }

  /** Everything that was refused was asked for once more when nothing refused it any longer. */
  retireRefusals(): void {
    this.#retired = this.#refusals
    this.#refusals = []
  }

  /** People told of a commit that can be seen from `visibleAt` on. */
  commitHidden(sha: string, visibleAt: number): void {
    this.#visibleAt.set(sha, visibleAt)
  }

  /** Until when it could not be seen; null when it always could. */
  commitVisibleAt(sha: string): number | null {
    return this.#visibleAt.get(sha) ?? null
  }

  /** An operator has skipped this delivery, or said that it has arrived. */
  closedByOperator(deliveryId: string): void {
    this.#closedByOperator.add(deliveryId)
  }

  wasClosedByOperator(deliveryId: string): boolean {
    return this.#closedByOperator.has(deliveryId)
  }

  /** A program that knows names alone has claimed this run, in the repository of that name then. */
  runClaimedByName(runId: string, repositoryId: number): void {
    if (!this.#claimedRepositories.has(runId)) this.#claimedRepositories.set(runId, repositoryId)
  }

  /** Which repository was meant; null for what was not claimed by name alone. */
  claimedRepository(runId: string): number | null {
    return this.#claimedRepositories.get(runId) ?? null
  }
}
