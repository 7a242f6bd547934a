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
const knownWithinMs = 120_000

interface Asked {
  readonly deliveryId: string
  readonly repositoryId: number
  /** Null for refusals that are for all of the repository. */
  readonly threads: readonly (number | null)[]
  /** For what was not there any more when all of it was asked for again. */
  readonly ever: boolean
}

export class Excuses {
  readonly #time: VirtualTime
  #refusals: Refusal[] = []
  #older: readonly Refusal[] = []
  readonly #failedAt = new Map<string, number>()
  readonly #left = new Set<string>()
  readonly #hidden = new Map<string, number>()
  readonly #meant = new Map<string, number>()

  constructor(time: VirtualTime) {
    this.#time = time
  }

  /** From now on GitHub refuses writes there. */
  refuses(repositoryId: number, thread: number | null): void {
    this.#refusals.push({ repositoryId, thread, from: this.#time.trueMs(), until: null })
  }

  /** And now no longer. */
  allows(repositoryId: number, thread: number | null): void {
    for (const one of this.#refusals) {
      const isThis = one.repositoryId === repositoryId && one.thread === thread
      if (isThis) one.until ??= this.#time.trueMs()
    }
  }

  /** It was given up just now. */
  failed(deliveryId: string): void {
    this.#failedAt.set(deliveryId, this.#time.trueMs())
  }

  /** Whether it was given up while, or right after, GitHub refused writes there. */
  isRefused({ deliveryId, repositoryId, threads, ever }: Asked): boolean {
    const at = this.#failedAt.get(deliveryId) ?? -Infinity
    return [...this.#refusals, ...(ever ? this.#older : [])].some(({ from, until, ...one }) => {
      const isThere = one.repositoryId === repositoryId && threads.includes(one.thread)
      return isThere && at >= from && at <= (until ?? at) + knownWithinMs
    })
  }

  /** Everything that was refused was asked for once more when nothing refused it any longer. */
  forgetRefusals(): void {
    this.#older = this.#refusals
    this.#refusals = []
  }

  /** People told of a commit that can be seen from `visibleAt` on. */
  hides(sha: string, visibleAt: number): void {
    this.#hidden.set(sha, visibleAt)
  }

  /** Until when it could not be seen; null when it always could. */
  hiddenUntil(sha: string): number | null {
    return this.#hidden.get(sha) ?? null
  }

  /** An operator has skipped this delivery, or said that it has arrived. */
  leave(deliveryId: string): void {
    this.#left.add(deliveryId)
  }

  isLeft(deliveryId: string): boolean {
    return this.#left.has(deliveryId)
  }

  /** A program that knows names alone has claimed this run, in the repository of that name then. */
  claimedByName(runId: string, repositoryId: number): void {
    if (!this.#meant.has(runId)) this.#meant.set(runId, repositoryId)
  }

  /** Which repository was meant; null for what was not claimed by name alone. */
  meantBy(runId: string): number | null {
    return this.#meant.get(runId) ?? null
  }
}
