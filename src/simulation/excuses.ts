/**
 * Records why it can be correct that an output is missing on GitHub: a locked thread, a lost
 * permission, an operator who closed the delivery. Each excuse covers its own target and no other.
 * The rules read the excuses through `rules/excused.ts`.
 */
import type { VirtualTime } from './virtual-time.ts'

interface Refusal {
  readonly repositoryId: number
  /** Null for the whole repository. */
  readonly thread: number | null
  readonly from: number
  /** Null while it lasts. */
  until: number | null
}

/** How long a node may take to give up: it may pause after the refusal, and look once more. */
const noticedWithinMs = 120_000

interface FailedDelivery {
  readonly deliveryId: string
  readonly repositoryId: number
  /** Threads whose refusals count; null means refusals of the whole repository. */
  readonly threads: readonly (number | null)[]
  /** Also refusals from before the bulk retry: a purged delivery was not retried. */
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

  /** GitHub refuses writes there from now on. */
  refusalBegan(repositoryId: number, thread: number | null): void {
    this.#refusals.push({ repositoryId, thread, from: this.#time.trueMs(), until: null })
  }

  /** GitHub accepts writes there again. */
  refusalEnded(repositoryId: number, thread: number | null): void {
    for (const refusal of this.#refusals) {
      const isThis = refusal.repositoryId === repositoryId && refusal.thread === thread
      if (isThis) refusal.until ??= this.#time.trueMs()
    }
  }

  /** The delivery became FAILED just now. */
  deliveryFailed(deliveryId: string): void {
    this.#failedAt.set(deliveryId, this.#time.trueMs())
  }

  /** True when the delivery failed while GitHub refused writes there, or soon after. */
  failedByRefusal({ deliveryId, repositoryId, threads, includeRetired }: FailedDelivery): boolean {
    const failedAt = this.#failedAt.get(deliveryId) ?? -Infinity
    return [...this.#refusals, ...(includeRetired ? this.#retired : [])].some(
      ({ from, until, ...place }) => {
        const isThere = place.repositoryId === repositoryId && threads.includes(place.thread)
        return isThere && failedAt >= from && failedAt <= (until ?? failedAt) + noticedWithinMs
      },
    )
  }

  /** All FAILED deliveries are retried now and nothing is refused: old refusals no longer count. */
  retireRefusals(): void {
    this.#retired = this.#refusals
    this.#refusals = []
  }

  /** A webhook named this commit; GitHub's API shows it from `visibleAt` on. */
  commitHidden(sha: string, visibleAt: number): void {
    this.#visibleAt.set(sha, visibleAt)
  }

  /** Null for a commit that was visible from the start. */
  commitVisibleAt(sha: string): number | null {
    return this.#visibleAt.get(sha) ?? null
  }

  /** An operator skipped this delivery, or confirmed that it arrived. */
  closedByOperator(deliveryId: string): void {
    this.#closedByOperator.add(deliveryId)
  }

  wasClosedByOperator(deliveryId: string): boolean {
    return this.#closedByOperator.has(deliveryId)
  }

  /** A program claimed this run by name; this repository had that name at the time. */
  runClaimedByName(runId: string, repositoryId: number): void {
    if (!this.#claimedRepositories.has(runId)) this.#claimedRepositories.set(runId, repositoryId)
  }

  /** GitHub's id of the repository that the caller meant; null for a run not claimed by name. */
  claimedRepository(runId: string): number | null {
    return this.#claimedRepositories.get(runId) ?? null
  }
}
