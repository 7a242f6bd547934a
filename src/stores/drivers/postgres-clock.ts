/**
 * On PostgreSQL the store uses the clock of the database server. So nodes with different clocks
 * agree on when a lease ends. Between measurements the time is taken from this machine's monotonic
 * clock, which nobody can set.
 *
 * The monotonic clock stops while the machine is suspended. The wall clock does not. If the two
 * have moved by different amounts, one of them jumped. Then the server is asked again before
 * anything is decided by its time.
 */
import type { BackgroundLoop } from '../../background-loop.ts'
import { backgroundLoop } from '../../background-loop.ts'
import type { Clock } from '../../clock.ts'
import { StoreUnavailableError } from '../../errors.ts'
import type { Scheduler } from '../../scheduler.ts'

const measureEveryMs = 30_000
/** After three missed measurements the two clocks may have drifted apart. */
const knownForMs = 90_000
/** A slower answer waited for a connection or a busy machine, so it measures the clock badly. */
const roundTripMsGood = 20
const samplesMax = 5
/** NTP adjusts both clocks in the same way. If they differ by more, one of them jumped. */
const divergenceMsMax = 1000

export class ServerClock {
  readonly #clock: Clock
  readonly #askServer: () => Promise<number>
  readonly #loop: BackgroundLoop
  #offset: number | null = null
  #measuredAt = -Infinity
  /** Wall clock minus monotonic clock, at the time of the measurement. */
  #clocksApartMs = 0
  #measuring: Promise<void> | null = null

  constructor(clock: Clock, scheduler: Scheduler, askServer: () => Promise<number>) {
    this.#clock = clock
    this.#askServer = askServer
    this.#loop = backgroundLoop({
      scheduler,
      everyMs: measureEveryMs,
      pass: () => this.measure(),
      onError: () => undefined, // the store's ping reports it, and the next pass tries again
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
   * The server probably read its clock at half the round trip. The error of that guess grows with
   * the length of the trip, so the shortest of a few trips counts.
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
      this.#clocksApartMs = this.#clock.wallMs() - after
    }
  }

  /** Returns false if the machine was suspended or a clock was set since the measurement. */
  isSteady(): boolean {
    const apartMs = this.#clock.wallMs() - this.#clock.monotonicMs()
    return Math.abs(apartMs - this.#clocksApartMs) <= divergenceMsMax
  }

  /** Resolves when the server's time can be used. All callers share one measurement. */
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
