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
}

export class Excuses {
  readonly #time: VirtualTime
  #refusals: Refusal[] = []
  #older: readonly Refusal[] = []
  readonly #left = new Set<string>()
  readonly #hidden = new Map<string, number>()

  constructor(time: VirtualTime) {
    this.#time = time
  }

  /** From now on GitHub refuses writes there. */
  refuses(repositoryId: number, thread: number | null): void {
    this.#refusals.push({ repositoryId, thread, from: this.#time.trueMs() })
  }

  /** `ever` for what was not there any more when all of it was asked for again. */
  isRefused(repositoryId: number, thread: number | null, ever: boolean): boolean {
    return [...this.#refusals, ...(ever ? this.#older : [])].some(
      (one) => one.repositoryId === repositoryId && (one.thread ?? thread) === thread,
    )
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
}
