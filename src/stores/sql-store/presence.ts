/**
 * Who looks after the store, and what it missed. A server says every few seconds that it is there;
 * a program that embeds the library only watches. Both notice when the store could not be reached,
 * and what they notice is stored: it excuses holders after a restart too, whoever is asked then.
 */
import type { Interruption, Moment } from '../../domain/run.ts'
import { isServedRecently } from '../../domain/served.ts'
import { Continuity, recentOf } from './continuity.ts'
import type { Driver } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { lockState, readStates, writeState } from '../tables/state-table.ts'

/** How stale the stored sign of life may be; writing it on every beat would cost an fsync each. */
const aliveEveryMs = 5000
/** A server that was not heard of for so long is away. */
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
  /** Of any server. */
  #aliveAt: number | null = null
  #saidAt: number | null = null
  #restoredAt: number | null = null
  #correcting: Promise<void> | null = null

  /** `correctTimes` puts right what a clock that was ahead has left in the future. */
  constructor(driver: Driver, correctTimes: (byMs: number) => Promise<void>) {
    this.#driver = driver
    this.#correctTimes = correctTimes
  }

  /** As of the last beat: nobody restores a store that is in use. */
  get restoredAt(): number | null {
    return this.#restoredAt
  }

  /** Whoever decides first after a gap must know of it, not only the next beat. */
  moment(): Moment {
    const now = this.#driver.now()
    this.#continuity.beat(now)
    const { interruptions } = this.#continuity
    return { now, interruptions: [...interruptions, ...this.#ongoing(now)] }
  }

  /** Its server is away, and whoever holds a run through it cannot renew. */
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
    await this.#say(stored, now)
  }

  /**
   * For whoever is about to ask what is due: without this, what a clock that was set back has left
   * in the future would not be.
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

  async #say(stored: Stored, now: number): Promise<void> {
    const own = this.#continuity.interruptions
    const known = new Set(stored.interruptions.map(({ endedAt }) => endedAt))
    // One from the future, by a clock that was ahead, would grow with every look at it.
    const isOff = stored.interruptions.some(({ endedAt }) => endedAt > now)
    const isNews = isOff || own.some(({ endedAt }) => !known.has(endedAt))
    // A clock that was set back must not keep the sign of life in the future.
    const sinceSaid = this.#saidAt === null ? Infinity : Math.abs(now - this.#saidAt)
    const isTime = this.#serves && sinceSaid >= aliveEveryMs
    if (!isNews && !isTime) return
    await this.#driver.transact(function* (): Verb<void> {
      if (isNews) yield* addInterruptions(own, now)
      if (isTime) yield* writeState('alive_at', String(now))
    })
    if (isTime) this.#saidAt = now
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

/** To what others may have added meanwhile. */
function* addInterruptions(own: readonly Interruption[], now: number): Verb<void> {
  const stored = parse(yield* lockState('interruptions', '[]'))
  yield* writeState('interruptions', JSON.stringify(recentOf([...stored, ...own], now)))
}

const parse = (text: string): readonly Interruption[] => JSON.parse(text) as readonly Interruption[]
