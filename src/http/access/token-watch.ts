/**
 * Ends the open streams and long-polls of a token when the token is revoked or expires. If this
 * process revoked it, that happens at once. Otherwise one query per second finds all ended tokens.
 */
import type { Cancel, Scheduler } from '../../scheduler.ts'
import type { StorePart } from '../../store.ts'

const pollMs = 1000

export interface WatchedToken {
  /** Aborts when the token is revoked or expires. */
  readonly ended: AbortSignal
  /** Call this when the request has ended. */
  readonly release: () => void
}

export class TokenWatch {
  readonly #store: StorePart<{ tokens: 'ended' }>
  readonly #scheduler: Scheduler
  readonly #held = new Map<string, Set<AbortController>>()
  #cancelPoll: Cancel | null = null

  constructor(store: StorePart<{ tokens: 'ended' }>, scheduler: Scheduler) {
    this.#store = store
    this.#scheduler = scheduler
  }

  watch(tokenId: string): WatchedToken {
    const controller = new AbortController()
    const watching = this.#held.get(tokenId) ?? new Set()
    this.#held.set(tokenId, watching.add(controller))
    this.#poll()
    return {
      ended: controller.signal,
      release: () => {
        watching.delete(controller)
        if (watching.size === 0) this.#held.delete(tokenId)
      },
    }
  }

  /** Call this with tokens that were revoked or have expired. */
  endRequestsOf(tokenIds: readonly string[]): void {
    for (const id of tokenIds) {
      for (const controller of this.#held.get(id) ?? []) controller.abort()
    }
  }

  #poll(): void {
    if (this.#cancelPoll !== null || this.#held.size === 0) return
    this.#cancelPoll = this.#scheduler.afterInBackground(pollMs, () => {
      void this.#ask().finally(() => {
        this.#cancelPoll = null
        this.#poll()
      })
    })
  }

  async #ask(): Promise<void> {
    try {
      this.endRequestsOf(await this.#store.tokens.ended([...this.#held.keys()]))
    } catch {
      // The store cannot be reached. It is asked again in a second.
    }
  }
}
