/**
 * The audit as it happens, for any number of followers.
 *
 * What must hold: a follower gets every row after the place it named, once and in the order of
 * commits, through a store that is away for a while. All followers share one look at the store per
 * tick, made only while there is one of them; each then reads its own pages, and only as fast as it
 * is listened to.
 */
import type { AuditRow } from '../domain/audit.ts'
import type { Log } from '../log.ts'
import type { Cancel, Scheduler } from '../scheduler.ts'
import { delay } from '../scheduler.ts'
import type { AuditBite, AuditFilter, StorePart } from '../store.ts'

const lookEveryMs = 250
const quietMsMax = 15_000
const pageMax = 100
/** The shared look tells of a store that is away; a follower only tries again. */
const againMs = 1000

export interface AuditFeed {
  /** Resolves when it is known where to begin; ends when the signal fires. */
  follow(request: FollowRequest): Promise<AsyncGenerator<AuditNews, void>>
}

export interface FollowRequest {
  /** Null begins with what is committed from now on. */
  readonly after: number | null
  readonly filter: AuditFilter
  readonly signal: AbortSignal
}

export interface AuditNews {
  /** Empty at the beginning, and whenever it has been quiet for a while. */
  readonly rows: readonly AuditRow[]
  /** Whoever begins after it again misses nothing. */
  readonly order: number
}

export interface AuditFeedOptions {
  readonly store: StorePart<{ audit: 'after' | 'latestOrder' }>
  readonly scheduler: Scheduler
  readonly log: Log
}

export function createAuditFeed(options: AuditFeedOptions): AuditFeed {
  return new StoreAuditFeed(options)
}

class StoreAuditFeed implements AuditFeed {
  readonly #options: AuditFeedOptions
  readonly #waiting = new Set<() => void>()
  #followers = 0
  #latest = 0
  #cancelLook: Cancel | null = null
  #isAway = false

  constructor(options: AuditFeedOptions) {
    this.#options = options
  }

  async follow(request: FollowRequest): Promise<AsyncGenerator<AuditNews, void>> {
    const start = request.after ?? (await this.#options.store.audit.latestOrder())
    return this.#news(start, request)
  }

  async *#news(start: number, { filter, signal }: FollowRequest): AsyncGenerator<AuditNews, void> {
    const isGone = (): boolean => signal.aborted
    let order = start
    this.#followers++
    this.#planLook()
    try {
      yield { rows: [], order }
      while (!isGone()) {
        // Known before the page is read, so the last page holds all up to it.
        const known = this.#latest
        const page = await this.#page(order, filter)
        if (isGone()) return
        if (page === null) {
          await delay(this.#options.scheduler, againMs, signal)
          continue
        }
        const { rows, more } = page
        order = rows.at(-1)?.order ?? order
        if (rows.length > 0) yield { rows, order }
        if (more) continue
        order = Math.max(order, known)
        const isNews = await this.#newsAfter(order, signal)
        if (!isNews) yield { rows: [], order }
      }
    } finally {
      this.#followers--
      this.#planLook()
    }
  }

  /** Null while the store is away. */
  async #page(order: number, filter: AuditFilter): Promise<AuditBite | null> {
    try {
      return await this.#options.store.audit.after(order, filter, pageMax)
    } catch {
      return null
    }
  }

  /** True as soon as there may be something after this place; false when it stays quiet. */
  #newsAfter(order: number, signal: AbortSignal): Promise<boolean> {
    if (this.#latest > order || signal.aborted) return Promise.resolve(true)
    return new Promise((resolve) => {
      const end = (isNews: boolean): void => {
        cancel()
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve(isNews)
      }
      const wake = (): void => end(true)
      const cancel = this.#options.scheduler.afterInBackground(quietMsMax, () => end(false))
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }

  #planLook(): void {
    if (this.#followers === 0) {
      this.#cancelLook?.()
      this.#cancelLook = null
      return
    }
    this.#cancelLook ??= this.#options.scheduler.afterInBackground(lookEveryMs, () => {
      void this.#look()
    })
  }

  async #look(): Promise<void> {
    try {
      const latest = await this.#options.store.audit.latestOrder()
      this.#isAway = false
      if (latest > this.#latest) {
        this.#latest = latest
        for (const wake of [...this.#waiting]) wake()
      }
    } catch (error) {
      if (!this.#isAway) {
        this.#options.log.warn({ err: error }, 'Could not read new audit events; trying again')
      }
      this.#isAway = true
    }
    this.#cancelLook = null
    this.#planLook()
  }
}
