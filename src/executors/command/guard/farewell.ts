/**
 * Ends the processes of a command: SIGTERM, and SIGKILL after a grace. A process outside the
 * command's group gets each signal once it is found.
 */
import type { Clock } from '../../../clock.ts'
import type { Cancel, Scheduler } from '../../../scheduler.ts'
import { signalProcess, type KillSignal } from '../processes.ts'

/** What SIGKILL has not ended after this time cannot be ended. */
export const killPatienceMs = 2000

export interface FarewellTools {
  readonly clock: Clock
  readonly scheduler: Scheduler
  /** Asks for a `look` in this turn or the next. */
  readonly lookSoon: () => void
}

export class Farewell {
  readonly #tools: FarewellTools
  readonly #signal: (signal: KillSignal) => void
  /** When SIGKILL follows, or followed, the SIGTERM. Null: no signal was sent yet. */
  #killAt: number | null = null
  #cancelKill: Cancel = () => undefined
  readonly #terminated = new Set<number>()

  /** `signal` reaches the command and its group. */
  constructor(tools: FarewellTools, signal: (signal: KillSignal) => void) {
    this.#tools = tools
    this.#signal = signal
  }

  /** Called again it can only make the SIGKILL earlier. */
  begin(graceMs: number): void {
    const killAt = this.#tools.clock.monotonicMs() + graceMs
    if (this.#killAt !== null && this.#killAt <= killAt) return
    const isFirst = this.#killAt === null
    this.#killAt = killAt
    this.#cancelKill()
    if (graceMs > 0) {
      if (isFirst) this.#signal('SIGTERM')
      this.#cancelKill = this.#tools.scheduler.after(graceMs, () => this.#kill())
      this.#tools.lookSoon()
    } else this.#kill()
  }

  #kill(): void {
    this.#killAt = this.#tools.clock.monotonicMs()
    this.#signal('SIGKILL')
    this.#tools.lookSoon()
  }

  /** Since the SIGKILL was due; negative before it, null if nothing was begun. */
  get overdueMs(): number | null {
    return this.#killAt === null ? null : this.#tools.clock.monotonicMs() - this.#killAt
  }

  signalStrays(pids: readonly number[]): void {
    const kills = (this.overdueMs ?? -1) >= 0
    for (const pid of pids) {
      if (kills) signalProcess(pid, 'SIGKILL')
      else if (!this.#terminated.has(pid)) signalProcess(pid, 'SIGTERM')
      this.#terminated.add(pid)
    }
  }

  cancel(): void {
    this.#cancelKill()
  }
}
