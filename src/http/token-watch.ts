/**
 * Ends what a token holds open when the token ends: streams and long-polls. In this process at
 * once; for tokens that another process revoked, or that ran out, by one query for all of them.
 */
import type { Cancel, Scheduler } from '../scheduler.ts'
import type { StorePart } from '../store.ts'

const pollMs = 1000

export interface WatchedToken {
  /** Fires when the token was revoked or ran out. */
  readonly ended: AbortSignal
  /** To be called when nothing is held open any more. */
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

  /** These tokens are over. */
  tell(tokenIds: readonly string[]): void {
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
      this.tell(await this.#store.tokens.ended([...this.#held.keys()]))
    } catch {
      // The store is away: it is asked again in a second.
    }
  }
}
