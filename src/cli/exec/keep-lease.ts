/**
 * Keeps the lease of a run while its command works, and says when the work must stop.
 *
 * What must hold:
 * - The server or the store may be away for a while. The work goes on until the lease has ended by
 *   the monotonic clock. Then it must stop, because somebody else may start.
 * - A lease counts from the moment before it was asked for, so it never ends later here than there.
 * - `lost` resolves once. After `stop` it never does.
 */
import type { Clock } from '../../clock.ts'
import { HoldfastError } from '../../errors.ts'
import type { Cancel, Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import type { HeldLease } from './get-lease.ts'
import { isAway, type RunAccess } from './run-access.ts'

/** A long-poll ends before its request would be given up. */
const waitMsMax = 20_000
/** For a server that is in trouble. A healthy one answers a heartbeat in milliseconds. */
const answerMsMax = 30_000
const retryMs = 1000
/** The command gets this long to end by itself before its lease ends. */
const farewellMsMax = 5000

/**
 * `away`: the lease ends soon and could not be renewed. `ended`: the run was completed with its own
 * run token. `refused`: any other answer.
 */
export type LossCode = 'superseded' | 'cancelled' | 'lease_lost' | 'ended' | 'away' | 'refused'

export interface Loss {
  readonly code: LossCode
  readonly text: string
}

export interface KeepLeaseOptions {
  readonly access: Pick<RunAccess, 'heartbeat' | 'place'>
  readonly held: HeldLease
  readonly leaseMs: number
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly say: (words: string) => void
  /** The lease lasts so long from now. */
  readonly onRenewed: (leaseMs: number) => void
}

export interface KeptLease {
  readonly lost: Promise<Loss>
  /**
   * The same, if it is lost by now. It looks at the clock: if this process was stopped for a while,
   * the timer that says so is late.
   */
  lossByNow(): Loss | null
  /** How long the lease lasts from now, at least. */
  leftMs(): number
  stop(): void
}

export function keepLease(options: KeepLeaseOptions): KeptLease {
  return new Keeper(options)
}

class Keeper implements KeptLease {
  readonly lost: Promise<Loss>
  readonly #lose: (loss: Loss) => void
  readonly #options: KeepLeaseOptions
  readonly #stop = new AbortController()
  #liveUntilMs: number
  #cancelEnd: Cancel = () => undefined
  #isAway = false
  #loss: Loss | null = null

  constructor(options: KeepLeaseOptions) {
    this.#options = options
    const { promise, resolve } = Promise.withResolvers<Loss>()
    this.lost = promise
    this.#lose = (loss) => {
      if (this.#stop.signal.aborted) return
      this.stop()
      this.#loss = loss
      resolve(loss)
    }
    this.#liveUntilMs = options.held.askedAtMs + options.leaseMs
    this.#watchEnd()
    void this.#keep()
  }

  lossByNow(): Loss | null {
    if (this.leftMs() <= this.#farewellMs) this.#loseAtEnd()
    return this.#loss
  }

  leftMs(): number {
    return Math.max(0, this.#liveUntilMs - this.#options.clock.monotonicMs())
  }

  stop(): void {
    this.#stop.abort()
    this.#cancelEnd()
  }

  /**
   * Renews, then waits for news, and so on. A long-poll renews too, but says so only at its end: if
   * the server is lost meanwhile, the short call before it counts.
   */
  async #keep(): Promise<void> {
    const { access, held, leaseMs, clock, scheduler } = this.#options
    const { signal } = this.#stop
    const longMs = Math.min(Math.floor(leaseMs / 3), waitMsMax)
    const request = { runId: held.run.id, leaseToken: held.leaseToken, leaseMs }
    let waitMs = 0
    while (!signal.aborted) {
      const askedAtMs = clock.monotonicMs()
      try {
        const answerMs = waitMs + this.#answerMs(waitMs)
        await access.heartbeat({ ...request, waitMs, answerMs }, signal)
        this.#renewed(askedAtMs)
        waitMs = waitMs === 0 ? longMs : 0
      } catch (error) {
        const loss = lossOf(error)
        if (loss !== null) this.#lose(loss)
        if (this.#stop.signal.aborted) return
        this.#sayAway()
        waitMs = 0
        await delay(scheduler, Math.min(retryMs, leaseMs / 10), signal)
      }
    }
  }

  /** Half of the time that is left for answers: one that is lost leaves time for another. */
  #answerMs(waitMs: number): number {
    const leftMs = this.leftMs() - this.#farewellMs - waitMs
    return Math.min(Math.max(leftMs / 2, this.#options.leaseMs / 8), answerMsMax)
  }

  get #farewellMs(): number {
    return Math.min(farewellMsMax, this.#options.leaseMs / 6)
  }

  #renewed(askedAtMs: number): void {
    if (this.#stop.signal.aborted) return
    const { access, leaseMs, say, onRenewed } = this.#options
    this.#liveUntilMs = askedAtMs + leaseMs
    onRenewed(this.leftMs())
    this.#watchEnd()
    if (this.#isAway) say(`${access.place} is back.`)
    this.#isAway = false
  }

  #watchEnd(): void {
    const { scheduler } = this.#options
    this.#cancelEnd()
    const leftMs = Math.max(0, this.leftMs() - this.#farewellMs)
    this.#cancelEnd = scheduler.after(leftMs, () => this.#loseAtEnd())
  }

  #loseAtEnd(): void {
    this.#lose({ code: 'away', text: 'its lease could not be renewed in time' })
  }

  #sayAway(): void {
    if (this.#isAway) return
    this.#isAway = true
    const { access, say } = this.#options
    const seconds = Math.round(this.leftMs() / 1000)
    say(
      `${access.place} does not answer; trying again. The command may go on for ${seconds} s, ` +
        'until its lease ends.',
    )
  }
}

const lossTexts = {
  superseded: 'a newer head took its place',
  cancelled: 'the run was cancelled',
  lease_lost: 'this job does not hold its run any more',
  ended: 'the run was completed with its run token',
} as const satisfies Partial<Record<LossCode, string>>

/** Null if the same call may succeed later. */
function lossOf(error: unknown): Loss | null {
  if (!(error instanceof HoldfastError) || isAway(error)) return null
  const known = Object.entries(lossTexts).find(([code]) => code === error.code)
  if (known === undefined) return { code: 'refused', text: error.message }
  return { code: known[0] as LossCode, text: known[1] }
}
