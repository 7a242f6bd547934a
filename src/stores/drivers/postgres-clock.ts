/**
 * The store's one clock on PostgreSQL is the server's, so that nodes whose own clocks differ agree
 * on when a lease ends. Between measurements it runs on this machine's monotonic clock, which no
 * one can set.
 *
 * That clock stands still while the machine is suspended. The wall clock does not: when the two
 * have moved by different amounts, one of them jumped, and the server is asked again before
 * anything is decided by its time.
 */
import type { BackgroundLoop } from '../../background-loop.ts'
import { backgroundLoop } from '../../background-loop.ts'
import type { Clock } from '../../clock.ts'
import { StoreUnavailableError } from '../../errors.ts'
import type { Scheduler } from '../../scheduler.ts'

const measureEveryMs = 30_000
/** Three missed measurements: the two clocks may have drifted apart unnoticed. */
const knownForMs = 90_000
/** A longer answer has waited for a connection or a busy machine; it says little of the clock. */
const roundTripMsGood = 20
const samplesMax = 5
/** Both are slewed alike; so far apart, one of them jumped. */
const divergenceMsMax = 1000

export class ServerClock {
  readonly #clock: Clock
  readonly #askServer: () => Promise<number>
  readonly #loop: BackgroundLoop
  #offset: number | null = null
  #measuredAt = -Infinity
  /** Wall clock minus monotonic clock when it was measured. */
  #apartMs = 0
  #measuring: Promise<void> | null = null

  constructor(clock: Clock, scheduler: Scheduler, askServer: () => Promise<number>) {
    this.#clock = clock
    this.#askServer = askServer
    this.#loop = backgroundLoop({
      scheduler,
      everyMs: measureEveryMs,
      pass: () => this.measure(),
      onError: () => undefined, // the store's ping tells; the next pass tries again
    })
  }

  async start(): Promise<void> {
    await this.measure()
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /**
   * Half the round trip is the best guess of when the server looked at its clock, and as wrong as
   * the trip was long: so the shortest of a few counts.
   */
  async measure(): Promise<void> {
    let shortestMs = Infinity
    for (let sample = 0; sample < samplesMax && shortestMs > roundTripMsGood; sample++) {
      const before = this.#clock.monotonicMs()
      const server = await this.#askServer()
      const after = this.#clock.monotonicMs()
      if (after - before >= shortestMs) continue
      shortestMs = after - before
      this.#offset = server - (before + after) / 2
      this.#measuredAt = after
      this.#apartMs = this.#clock.wallMs() - after
    }
  }

  /** False when this machine's clocks say that it slept, or that one of them was set. */
  isSteady(): boolean {
    const apartMs = this.#clock.wallMs() - this.#clock.monotonicMs()
    return Math.abs(apartMs - this.#apartMs) <= divergenceMsMax
  }

  /** Resolves when the server's time may be gone by; everybody waits for one measurement. */
  async steady(): Promise<void> {
    if (this.isSteady()) return
    this.#measuring ??= this.measure().finally(() => {
      this.#measuring = null
    })
    await this.#measuring
  }

  isKnown(): boolean {
    return this.#offset !== null && this.#clock.monotonicMs() - this.#measuredAt < knownForMs
  }

  now(): number {
    if (this.#offset === null) {
      throw clockUnknown()
    }
    return Math.round(this.#clock.monotonicMs() + this.#offset)
  }
}

export function clockUnknown(): StoreUnavailableError {
  return new StoreUnavailableError('store_clock_unknown', "the database's clock is not known", {
    hint: 'Check that PostgreSQL answers; the clock is read again by itself.',
  })
}
