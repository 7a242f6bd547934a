/**
 * Whether a server is active on the store, and when holders could not reach it. A server stores a
 * sign of life every few seconds; a program that embeds the library only watches. Both notice
 * interruptions and store them, so that leases are extended after a restart too, in any process.
 */
import type { Interruption, Moment } from '../../domain/run.ts'
import { isServedRecently } from '../../domain/served.ts'
import { Continuity, recentOf } from './continuity.ts'
import type { Driver } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { lockState, readStates, writeState } from '../tables/state-table.ts'

/** How often the sign of life is stored; on every beat it would cost an fsync each second. */
const aliveEveryMs = 5000
/** A server without a sign of life for so long is down. */
const silentMs = aliveEveryMs + 3000

interface Stored {
  readonly aliveAt: number | null
  readonly interruptions: readonly Interruption[]
  readonly restoredAt: number | null
}

export class Presence {
  readonly #driver: Driver
  readonly #correctTimes: (byMs: number) => Promise<void>
  readonly #continuity = new Continuity()
  #begun = false
  #serves = false
  /** The last sign of life of any server. */
  #aliveAt: number | null = null
  #aliveStoredAt: number | null = null
  #restoredAt: number | null = null
  #correcting: Promise<void> | null = null

  /** `correctTimes` corrects stored times after the clock was set back. */
  constructor(driver: Driver, correctTimes: (byMs: number) => Promise<void>) {
    this.#driver = driver
    this.#correctTimes = correctTimes
  }

  /** As of the last beat: nobody restores a store that is in use. */
  get restoredAt(): number | null {
    return this.#restoredAt
  }

  /** The first decision after a gap must know of the gap, even before the next beat. */
  moment(): Moment {
    const now = this.#driver.now()
    this.#continuity.beat(now)
    const { interruptions } = this.#continuity
    return { now, interruptions: [...interruptions, ...this.#ongoing(now)] }
  }

  /** While the server is down, holders cannot renew their leases. */
  #ongoing(now: number): readonly Interruption[] {
    const beganAt = this.#aliveAt
    if (this.#serves || beganAt === null || now - beganAt < silentMs) return []
    return isServedRecently(beganAt, now) ? [{ beganAt, endedAt: now }] : []
  }

  async beat(): Promise<void> {
    this.#serves = true
    await this.watch()
  }

  async watch(): Promise<void> {
    await this.#driver.ping()
    const stored = await this.#driver.read(readStored)
    const now = this.#driver.now()
    this.#notice(stored, now)
    await this.correct()
    await this.#storeSigns(stored, now)
  }

  /**
   * Call it before reading what is due: after the clock was set back, due rows still have times in
   * the future.
   */
  async correct(): Promise<void> {
    this.#continuity.see(this.#driver.now())
    const { setBackMs } = this.#continuity
    if (setBackMs === 0) return
    this.#correcting ??= this.#correctTimes(setBackMs)
      .then(() => this.#continuity.corrected())
      .finally(() => {
        this.#correcting = null
      })
    await this.#correcting
  }

  #notice({ aliveAt, interruptions, restoredAt }: Stored, now: number): void {
    this.#aliveAt = aliveAt
    this.#restoredAt = restoredAt
    if (this.#begun) this.#continuity.beat(now)
    else this.#continuity.begin(this.#serves || isAhead(aliveAt, now) ? aliveAt : null, now)
    this.#begun = true
    this.#continuity.learn(interruptions, now)
  }

  async #storeSigns(stored: Stored, now: number): Promise<void> {
    const own = this.#continuity.interruptions
    const known = new Set(stored.interruptions.map(({ endedAt }) => endedAt))
    // An interruption that ends in the future would grow with every read.
    const endsInFuture = stored.interruptions.some(({ endedAt }) => endedAt > now)
    const hasNewInterruptions = endsInFuture || own.some(({ endedAt }) => !known.has(endedAt))
    // A clock that was set back must not keep the sign of life in the future.
    const sinceStoredMs =
      this.#aliveStoredAt === null ? Infinity : Math.abs(now - this.#aliveStoredAt)
    const isAliveDue = this.#serves && sinceStoredMs >= aliveEveryMs
    if (!hasNewInterruptions && !isAliveDue) return
    await this.#driver.transact(function* (): Verb<void> {
      if (hasNewInterruptions) yield* addInterruptions(own, now)
      if (isAliveDue) yield* writeState('alive_at', String(now))
    })
    if (isAliveDue) this.#aliveStoredAt = now
  }
}

const isAhead = (aliveAt: number | null, now: number): boolean => aliveAt !== null && aliveAt > now

function* readStored(): Verb<Stored> {
  const read = yield* readStates('alive_at', 'restored_at', 'interruptions')
  const { alive_at: aliveAt, restored_at: restoredAt, interruptions } = read
  return {
    aliveAt: aliveAt === null ? null : Number(aliveAt),
    restoredAt: restoredAt === null ? null : Number(restoredAt),
    interruptions: parse(interruptions ?? '[]'),
  }
}

/** Adds them to what other processes may have stored meanwhile. */
function* addInterruptions(own: readonly Interruption[], now: number): Verb<void> {
  const stored = parse(yield* lockState('interruptions', '[]'))
  yield* writeState('interruptions', JSON.stringify(recentOf([...stored, ...own], now)))
}

const parse = (text: string): readonly Interruption[] => JSON.parse(text) as readonly Interruption[]
