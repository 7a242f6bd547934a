/**
 * Sends new audit rows to any number of followers.
 *
 * What must hold: a follower gets every row after the place that it named, once and in the order of
 * commits, also if the store is away for a while. All followers share one query per tick, and there
 * is none without followers. Each follower then reads its own pages, only as fast as it consumes
 * them.
 */
import type { AuditRow } from '../domain/audit.ts'
import type { Log } from '../log.ts'
import type { Cancel, Scheduler } from '../scheduler.ts'
import { delay } from '../scheduler.ts'
import type { AuditBatch, AuditFilter, StorePart } from '../store.ts'

const queryEveryMs = 250
const quietMsMax = 15_000
const pageMax = 100
/** The shared query logs that the store is away. A follower only tries again. */
const retryMs = 1000

export interface AuditFeed {
  /** Resolves when it is known where to begin. The generator ends when the signal aborts. */
  follow(request: FollowRequest): Promise<AsyncGenerator<AuditNews, void>>
}

export interface FollowRequest {
  /** Null: begin with what is committed from now on. */
  readonly after: number | null
  readonly filter: AuditFilter
  readonly signal: AbortSignal
}

export interface AuditNews {
  /** Empty at the beginning, and if nothing happened for a while. */
  readonly rows: readonly AuditRow[]
  /** A follower that begins again after this place misses nothing. */
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
  #cancelQuery: Cancel | null = null
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
    this.#planQuery()
    try {
      yield { rows: [], order }
      while (!isGone()) {
        // Read before the page, so the last page contains everything up to it.
        const known = this.#latest
        const page = await this.#page(order, filter)
        if (isGone()) return
        if (page === null) {
          await delay(this.#options.scheduler, retryMs, signal)
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
      this.#planQuery()
    }
  }

  /** Returns null while the store is away. */
  async #page(order: number, filter: AuditFilter): Promise<AuditBatch | null> {
    try {
      return await this.#options.store.audit.after(order, filter, pageMax)
    } catch {
      return null
    }
  }

  /** Resolves to true once there may be rows after this place, to false after a quiet time. */
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

  #planQuery(): void {
    if (this.#followers === 0) {
      this.#cancelQuery?.()
      this.#cancelQuery = null
      return
    }
    this.#cancelQuery ??= this.#options.scheduler.afterInBackground(queryEveryMs, () => {
      void this.#query()
    })
  }

  async #query(): Promise<void> {
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
    this.#cancelQuery = null
    this.#planQuery()
  }
}
