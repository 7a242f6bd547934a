/**
 * A cache whose entries end after a time. Concurrent questions with one key are asked once. A
 * rejection is never kept. If the cache is full, the oldest entry is removed. It uses monotonic
 * time, so setting the clock has no effect.
 */
import type { Clock } from '../clock.ts'

export interface CachedValue<V> {
  readonly value: V
  readonly keepMs: number
}

interface Entry<V> {
  readonly value: V
  readonly untilMs: number
}

const entriesMax = 10_000

export class TimedCache<V> {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry<V>>()
  readonly #pending = new Map<string, Promise<V>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async get(key: string, ask: () => Promise<CachedValue<V>>): Promise<V> {
    const entry = this.#entries.get(key)
    if (entry !== undefined && entry.untilMs > this.#clock.monotonicMs()) return entry.value
    const pending = this.#pending.get(key)
    if (pending !== undefined) return await pending
    const asked = this.#ask(key, ask).finally(() => this.#pending.delete(key))
    this.#pending.set(key, asked)
    return await asked
  }

  /**
   * Removes the entry only if it still has this value. A late caller must not remove a newer one.
   */
  forget(key: string, value: V): void {
    if (this.#entries.get(key)?.value === value) this.#entries.delete(key)
  }

  peek(key: string): V | undefined {
    return this.#entries.get(key)?.value
  }

  async #ask(key: string, ask: () => Promise<CachedValue<V>>): Promise<V> {
    const { value, keepMs } = await ask()
    this.#entries.delete(key)
    this.#entries.set(key, { value, untilMs: this.#clock.monotonicMs() + keepMs })
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > entriesMax && oldest !== undefined) this.#entries.delete(oldest)
    return value
  }
}
