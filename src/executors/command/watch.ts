/**
 * Has the guard watch a command that this process starts itself.
 *
 * What must hold:
 * - The command is started only after the guard watches. So it does not outlive its lease or this
 *   process, however that ends.
 * - A lost guard is replaced at once, and told everything again. If guards are lost again and
 *   again, `lost` resolves, and the command has to be ended by this process.
 * - A guard that does not answer cannot hold this process up.
 */
import type { Clock } from '../../clock.ts'
import { SetupError } from '../../errors.ts'
import type { Cancel, Scheduler } from '../../scheduler.ts'
import { startGuard, type GuardLoss, type GuardProcess } from './guard-process.ts'
import type { FromGuard } from './guard/messages.ts'
import { executionMarks, type ExecutionMarks } from './processes.ts'
import { guardFailureText } from './start-failure.ts'

export interface WatchRequest {
  readonly runId: string
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>
  /** Removed if this process is gone. */
  readonly folder: string
  readonly leaseMs: number
}

export interface Watch {
  /** Resolves when the command may be started. Rejects if there is no guard. */
  readonly ready: Promise<void>
  /** Resolves if nobody can watch any more. */
  readonly lost: Promise<void>
  readonly marks: ExecutionMarks
  started(pid: number, leadsGroup: boolean): void
  /** The lease lasts `leaseMs` from now. */
  renew(leaseMs: number): void
  /** SIGTERM to all its processes, SIGKILL after the grace. */
  stop(graceMs: number): void
  /**
   * Its first process has ended. Resolves when none of the others is left, and says whether the
   * guard has killed them all because the lease had ended.
   */
  exited(graceMs: number): Promise<WatchEnd>
  close(): Promise<void>
}

export interface WatchEnd {
  readonly leaseEnded: boolean
}

const guardsMax = 3
/** How long after the grace a guard may take to say that nothing is left. */
const answerPatienceMs = 5000
const id = 1
/** How long the guard may take to end when nothing is left for it to do. */
const closePatienceMs = 5000

export function watchCommand(
  request: WatchRequest,
  tools: { readonly clock: Clock; readonly scheduler: Scheduler },
): Watch {
  return new GuardWatch(request, tools.clock, tools.scheduler)
}

class GuardWatch implements Watch {
  readonly ready: Promise<void>
  readonly lost: Promise<void>
  readonly marks: ExecutionMarks
  readonly #folder: string
  readonly #clock: Clock
  readonly #scheduler: Scheduler
  readonly #settleReady: PromiseWithResolvers<void>
  readonly #settleLost: PromiseWithResolvers<void>
  readonly #gone = Promise.withResolvers<WatchEnd>()
  #guard: GuardProcess | null = null
  #guards = 0
  #started: { readonly pid: number; readonly leadsGroup: boolean } | null = null
  #leaseUntilMs: number
  /** When SIGKILL follows the SIGTERM; null while it may run. */
  #killAtMs: number | null = null
  #hasExited = false
  #isClosed = false

  constructor({ runId, env, folder, leaseMs }: WatchRequest, clock: Clock, scheduler: Scheduler) {
    this.marks = executionMarks(runId, env)
    this.#folder = folder
    this.#clock = clock
    this.#scheduler = scheduler
    this.#leaseUntilMs = clock.monotonicMs() + leaseMs
    this.#settleReady = Promise.withResolvers<void>()
    this.#settleLost = Promise.withResolvers<void>()
    this.ready = this.#settleReady.promise
    this.lost = this.#settleLost.promise
    this.#startGuard()
  }

  started(pid: number, leadsGroup: boolean): void {
    this.#started = { pid, leadsGroup }
    this.#guard?.send({ type: 'watched-started', id, pid, leadsGroup })
  }

  renew(leaseMs: number): void {
    this.#leaseUntilMs = this.#clock.monotonicMs() + leaseMs
    this.#guard?.send({ type: 'renew', id, leaseMs })
  }

  stop(graceMs: number): void {
    this.#killAtMs = Math.min(this.#killAtMs ?? Infinity, this.#clock.monotonicMs() + graceMs)
    this.#guard?.send({ type: 'stop', id, graceMs })
  }

  async exited(graceMs: number): Promise<WatchEnd> {
    this.#hasExited = true
    this.#guard?.send({ type: 'watched-exited', id, graceMs })
    // One that is stopped, as by SIGSTOP, answers nothing. Killed, it is replaced.
    let cancel: Cancel = () => undefined
    const insist = (): void => {
      cancel = this.#scheduler.after(graceMs + answerPatienceMs, () => {
        this.#guard?.kill()
        insist()
      })
    }
    insist()
    const unknown = this.lost.then(() => ({ leaseEnded: false }))
    const end = await Promise.race([this.#gone.promise, unknown])
    cancel()
    return end
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const guard = this.#guard
    if (guard === null) return
    const cancel = this.#scheduler.after(closePatienceMs, () => guard.kill())
    guard.disconnect()
    await guard.exited
    cancel()
  }

  #startGuard(): void {
    this.#guards += 1
    const guard = startGuard(this.#scheduler, {
      onMessage: (message) => this.#hear(message),
      onDrained: () => undefined,
      onLost: (loss) => this.#guardLost(loss),
    })
    this.#guard = guard
    const [marks, folder, leaseMs] = [this.marks, this.#folder, this.#leftMs(this.#leaseUntilMs)]
    guard.send({ type: 'watch', id, marks, folder, leaseMs })
    if (this.#started !== null) guard.send({ type: 'watched-started', id, ...this.#started })
    const graceMs = this.#killAtMs === null ? null : this.#leftMs(this.#killAtMs)
    if (graceMs !== null) guard.send({ type: 'stop', id, graceMs })
    if (this.#hasExited) guard.send({ type: 'watched-exited', id, graceMs: graceMs ?? 0 })
  }

  #leftMs(untilMs: number): number {
    return Math.max(0, untilMs - this.#clock.monotonicMs())
  }

  #hear(message: FromGuard): void {
    if (message.type === 'watching') {
      // The guard has counted the lease from its own start, which took a while.
      this.#guard?.send({ type: 'renew', id, leaseMs: this.#leftMs(this.#leaseUntilMs) })
      this.#settleReady.resolve()
    }
    if (message.type === 'gone') this.#gone.resolve(message)
  }

  #guardLost({ startFailure }: GuardLoss): void {
    this.#guard = null
    if (this.#isClosed) return
    if (startFailure === null && this.#guards < guardsMax) return this.#startGuard()
    const text = guardFailureText(startFailure ?? 'it was lost')
    this.#settleReady.reject(new SetupError('guard', text))
    this.#settleLost.resolve()
  }
}
