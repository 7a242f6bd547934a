/**
 * From the claim to a lease, or to the reason why there is nothing to do here.
 *
 *   claim ── should_process ──▶ held
 *     │ ├─── queued, or a run that waits for a worker ──▶ leases that very run at its turn ──▶ held
 *     │ ├─── somebody works on it ──▶ waits ──┬─ it ends ──▶ ended, by its state
 *     │ │                                     └─ its lease was not renewed ──▶ claims again
 *     │ └─── done, stale, busy ──▶ ended
 *
 * What must hold:
 * - The store alone decides who works. Waiting takes nothing away: a run is only claimed again, and
 *   the claim says whether its holder is lost.
 * - Whoever queued a run and is interrupted gives it up: it is cancelled, so that nobody waits
 *   behind a run that nobody does. It cannot know who else waits for that run. So whoever does
 *   claims again, and the run gets another round. One that a person cancelled stays cancelled.
 */
import type { Clock } from '../../clock.ts'
import type { ClaimedView, RunView } from '../../contract/runs.ts'
import type { Random } from '../../random.ts'
import { delay, type Scheduler } from '../../scheduler.ts'
import {
  activeWords,
  busy,
  endedElsewhere,
  leftInQueue,
  notWaitedFor,
  purged,
  rerunRequested,
  staleEvent,
  waitsForItself,
  workWords,
  type Ending,
} from './ending.ts'
import { insist, unlessAborted, type Insisting } from './insist.ts'
import { givenUpBy, isAway, type RunAccess } from './run-access.ts'
import { hasTurnOf, type WantedWork } from './wanted-work.ts'

export interface HeldLease {
  readonly run: RunView
  readonly leaseToken: string
  readonly runToken: string
  /** Why the work is to be done. */
  readonly reason: string
  /** When it was granted or renewed, or before, by the monotonic clock. */
  readonly askedAtMs: number
  /** A rerun was asked for, and this round was there before: the next one is the rerun. */
  readonly owesRerun: boolean
}

export type Turn =
  | { readonly held: HeldLease }
  | { readonly ended: Ending }
  | { readonly interrupted: RunView | null; readonly mayHold: boolean }

export interface GetLeaseOptions {
  readonly access: RunAccess
  readonly work: WantedWork
  readonly leaseMs: number
  readonly wait: boolean
  /** The runs that this process is a part of. */
  readonly insideRunIds: readonly string[]
  /** Names this machine to people. */
  readonly worker: string
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly random: Random
  readonly say: (words: string) => void
  readonly interrupted: AbortSignal
}

/** A server that restarts is back in a few seconds. A wrong address stays wrong. */
const firstAnswerMsMax = 10_000
export const awayMsMax = 60_000
const pollMs = 1000
/** How long one request waits for its turn. An interruption waits for its answer. */
const leaseWaitMsMax = 2000
/** How long after an interruption an answer is waited for that may give us the run. */
const lastAnswerMsMax = 5000
/** Between two claims of a run whose lease looks lost. */
const claimAgainMsMax = 30_000

export async function getLease(options: GetLeaseOptions): Promise<Turn> {
  const waiting = new Waiting(options)
  return await waiting.getTurn()
}

/** The same for the next round of a run, which was asked for and which nobody does yet. */
export async function getNextRound(options: GetLeaseOptions, run: RunView): Promise<Turn> {
  return await new Waiting(options).getNextRound(run)
}

class Waiting {
  readonly #options: GetLeaseOptions
  readonly #insisting: Insisting
  /** Aborts some time after an interruption. */
  readonly #giveUp = new AbortController()
  #said = ''
  #isFirst = true
  /** The lease that was last seen, and when it was first seen. */
  #seen: { readonly expires: string | null; readonly atMs: number } = { expires: null, atMs: 0 }
  #claimAgainMs = pollMs
  #claimedAtMs = 0
  /** The round in which a rerun was asked for. */
  #rerunOf: number | null = null

  constructor(options: GetLeaseOptions) {
    this.#options = options
    const { clock, scheduler, say, access, interrupted } = options
    interrupted.addEventListener('abort', () => {
      scheduler.after(lastAnswerMsMax, () => this.#giveUp.abort())
    })
    const onAway = (): void => say(`${access.place} does not answer; trying again …`)
    this.#insisting = { clock, scheduler, onAway }
  }

  async getTurn(): Promise<Turn> {
    await this.#refuseOwnTurn()
    for (;;) {
      const turn = await this.#claim()
      if (turn !== 'again') return turn
    }
  }

  async getNextRound(run: RunView): Promise<Turn> {
    this.#isFirst = false
    this.#rerunOf = run.round - 1
    const turn = await this.#meet(run, 'duplicate')
    return turn === 'again' ? await this.getTurn() : turn
  }

  async #claim(): Promise<Turn | 'again'> {
    const { access, leaseMs, clock } = this.#options
    const work = this.#wantedWork()
    const key = this.#newKey()
    const askedAtMs = (this.#claimedAtMs = clock.monotonicMs())
    if (this.#isInterrupted()) return { interrupted: null, mayHold: false }
    const claimed = await this.#grantOf(
      () => access.claim(work, leaseMs, key),
      this.#isFirst ? firstAnswerMsMax : awayMsMax,
    )
    if (claimed === 'unknown') return { interrupted: null, mayHold: true }
    this.#isFirst = false
    const { run, lease, run_token: runToken, reason } = claimed
    if (claimed.should_process && run !== null && lease !== null && runToken !== null) {
      return await this.#hold({ run, leaseToken: lease.token, runToken, reason, askedAtMs })
    }
    if (this.#isInterrupted()) return this.#interruptedIn(reason, run)
    return await this.#withoutLease(claimed)
  }

  /** Before the claim, which would leave a run in the queue that can never begin. */
  async #refuseOwnTurn(): Promise<void> {
    const { work, insideRunIds } = this.#options
    if (!this.#isFirst) return
    for (const id of insideRunIds) {
      if (this.#isInterrupted()) return
      const outer = await this.#runAround(id)
      if (outer !== null && isActive(outer) && hasTurnOf(outer, work.claim)) {
        throw waitsForItself(outer)
      }
    }
  }

  /** Null for a run of another server or database, or one that this token does not reach. */
  async #runAround(id: string): Promise<RunView | null> {
    const { signal } = this.#giveUp
    const look = (): Promise<RunView> => unlessAborted(this.#options.access.run(id), signal)
    return await insist(look, firstAnswerMsMax, this.#insisting, signal).catch((error: unknown) => {
      if (this.#isInterrupted() || !isAway(error)) return null
      throw error
    })
  }

  #isInterrupted(): boolean {
    return this.#options.interrupted.aborted
  }

  #interruptedIn(reason: string, run: RunView | null): Turn {
    return { interrupted: reason === 'queued' ? run : null, mayHold: false }
  }

  /**
   * A call that may give us the run. After an interruption its answer is still waited for, a while:
   * whoever got the lease has to say that the work was not done.
   */
  async #grantOf<T>(call: () => Promise<T>, forMs: number): Promise<T | 'unknown'> {
    const { signal } = this.#giveUp
    const tried = (): Promise<T> => unlessAborted(call(), signal)
    return await insist(tried, forMs, this.#insisting, signal).catch((error: unknown) => {
      if (this.#options.interrupted.aborted && isAway(error)) return 'unknown' as const
      throw error
    })
  }

  /** A rerun is asked for once. The claim of a run whose holder is lost asks for no further one. */
  #wantedWork(): WantedWork {
    const { work } = this.#options
    if (this.#rerunOf === null) return work
    return {
      sent: { ...work.sent, rerun: undefined },
      claim: { ...work.claim, rerun: undefined },
    }
  }

  async #hold(lease: Omit<HeldLease, 'owesRerun'>): Promise<Turn> {
    const owesRerun = this.#rerunOf !== null && lease.run.round <= this.#rerunOf
    const askedAtMs = await this.#renewedAtMs(lease)
    return { held: { ...lease, owesRerun, askedAtMs } }
  }

  /**
   * A repeated request counts from its first try, which may have been the one that was granted. If
   * most of the lease may be over by now, it is renewed before the work starts.
   */
  async #renewedAtMs({ askedAtMs, run, leaseToken }: Omit<HeldLease, 'owesRerun'>) {
    const { access, clock, leaseMs, interrupted } = this.#options
    const now = clock.monotonicMs()
    if (now - askedAtMs <= this.#thirdMs() || interrupted.aborted) return askedAtMs
    const request = { runId: run.id, leaseToken, leaseMs, waitMs: 0, answerMs: this.#thirdMs() }
    // If it is lost, or nobody answers, the next heartbeat says so.
    return await access.heartbeat(request, interrupted).then(
      () => now,
      () => askedAtMs,
    )
  }

  #thirdMs(): number {
    return Math.floor(this.#options.leaseMs / 3)
  }

  async #withoutLease(claimed: ClaimedView): Promise<Turn | 'again'> {
    const { run, reason } = claimed
    const { clock, work, wait } = this.#options
    if (reason === 'stale-event') return { ended: staleEvent(claimed) }
    if (reason === 'busy') return { ended: busy(claimed, wait) }
    if (run === null) return { ended: purged(claimed, this.#isCertain()) }
    if (!isActive(run)) return { ended: endedElsewhere(run, reason, clock.wallMs()) }
    if (work.claim.rerun === true && reason === 'duplicate') this.#rerunOf ??= run.round
    return await this.#meet(run, reason)
  }

  async #meet(run: RunView, reason: string): Promise<Turn | 'again'> {
    if (this.#options.insideRunIds.includes(run.id)) throw waitsForItself(run)
    if (this.#options.wait) return await this.#waitFor(run, reason)
    if (run.state !== 'pending') return { ended: this.#notWaitedFor(run) }
    // Null if it is not its turn, or if somebody else has just taken it.
    const leased = await this.#lease(run, 0, reason)
    return leased ?? { ended: this.#notWaitedFor(await this.#options.access.run(run.id)) }
  }

  #notWaitedFor(run: RunView): Ending {
    if (!isActive(run)) return endedElsewhere(run, 'waited', this.#options.clock.wallMs())
    if (this.#rerunOf !== null) return rerunRequested(run)
    return run.state === 'pending' ? leftInQueue(run) : notWaitedFor(run)
  }

  /** Without a time and an action, only work that succeeded is a duplicate. */
  #isCertain(): boolean {
    const { claim } = this.#options.work
    return claim.event_at === undefined && claim.action === undefined
  }

  async #waitFor(first: RunView, reason: string): Promise<Turn | 'again'> {
    const { access, clock, scheduler, interrupted } = this.#options
    let run = first
    for (;;) {
      this.#sayWhy(run, reason)
      if (run.state === 'pending') {
        const leased = await this.#lease(run, Math.min(leaseWaitMsMax, this.#thirdMs()), reason)
        if (leased !== null) return leased
      } else {
        if (this.#looksLost(run)) return 'again'
        await delay(scheduler, pollMs, interrupted)
      }
      if (interrupted.aborted) return this.#interruptedIn(reason, run)
      const { id } = run
      const look = (): Promise<RunView> => unlessAborted(access.run(id), interrupted)
      const seen = await insist(look, awayMsMax, this.#insisting, interrupted).catch(
        (error: unknown) => {
          if (interrupted.aborted) return null
          throw error
        },
      )
      if (seen === null) return this.#interruptedIn(reason, run)
      run = seen
      if (await this.#wasGivenUp(run)) return 'again'
      if (!isActive(run)) return { ended: endedElsewhere(run, 'waited', clock.wallMs()) }
    }
  }

  /** If nobody answers for long, the run counts as cancelled, which is red. */
  async #wasGivenUp({ id, state }: RunView): Promise<boolean> {
    if (state !== 'cancelled') return false
    const { access, interrupted } = this.#options
    const look = () => unlessAborted(access.audit(id), interrupted)
    const given = insist(look, awayMsMax, this.#insisting, interrupted).then(givenUpBy)
    return await given.catch(() => false)
  }

  async #lease(run: RunView, waitMs: number, reason: string): Promise<Turn | null> {
    const { access, leaseMs, worker, clock, interrupted } = this.#options
    const key = this.#newKey()
    const askedAtMs = clock.monotonicMs()
    const request = { runId: run.id, worker, leaseMs, waitMs }
    const leased = await this.#grantOf(() => access.lease(request, key, interrupted), awayMsMax)
    if (leased === 'unknown') {
      return { interrupted: reason === 'queued' ? run : null, mayHold: true }
    }
    if (leased === null) return null
    const { lease, run_token: runToken } = leased
    const held = { run: leased.run, leaseToken: lease.token, runToken, askedAtMs }
    return await this.#hold({ ...held, reason: reason === 'queued' ? reason : 'leased' })
  }

  /**
   * Whether to claim it again, because its holder may be lost. Clocks of two machines differ, so a
   * lease that is not renewed for long counts as well, and no clock makes us ask too often.
   */
  #looksLost({ lease_expires_at: expires }: RunView): boolean {
    const { clock, leaseMs } = this.#options
    const now = clock.monotonicMs()
    if (expires !== this.#seen.expires) {
      this.#seen = { expires, atMs: now }
      this.#claimAgainMs = pollMs
    }
    if (expires === null) return false
    const isPast = clock.wallMs() >= Date.parse(expires)
    const isOld = now - this.#seen.atMs >= 2 * leaseMs
    if (!(isPast || isOld) || now - this.#claimedAtMs < this.#claimAgainMs) return false
    this.#claimAgainMs = Math.min(2 * this.#claimAgainMs, claimAgainMsMax)
    return true
  }

  #sayWhy(run: RunView, reason: string): void {
    const { say } = this.#options
    const isOwn = reason === 'queued' && run.state === 'pending'
    const words = isOwn
      ? `Waiting: ${run.id} (${workWords(run)}) is queued behind another run.`
      : `Waiting: ${activeWords(run)}.`
    if (words === this.#said) return
    this.#said = words
    say(words)
  }

  #newKey(): string {
    return `exec-${this.#options.random.bytes(16).toString('hex')}`
  }
}

function isActive({ state }: RunView): boolean {
  return state === 'pending' || state === 'running' || state === 'waiting'
}
