/**
 * A command that its node started itself, and that the guard only watches: on a terminal the
 * command has to be in the foreground, and its output belongs to the node.
 *
 * What must hold:
 * - It is watched before it is started. If the node is gone in between, its processes are found by
 *   their environment, so they are looked for a while although nobody said that they exist.
 * - The guard is not its parent, and never hears of its end. So a lone process is signalled only
 *   until the node says that it has ended, and on Linux only if it carries the marks.
 * - When its lease ends it is killed at once, because somebody else may already do the same work.
 * - A node that was stopped for a while may start it after that. So it is watched until the node
 *   says that it has ended, or is gone. In between, nothing is looked for while nothing is there.
 */
import type { Cancel } from '../../../scheduler.ts'
import {
  groupIsAlive,
  signalGroup,
  signalProcess,
  type KillSignal,
  type Processes,
} from '../processes.ts'
import { Farewell, killPatienceMs, type FarewellTools } from './farewell.ts'
import type { WatchCommand, WatchedStarted } from './messages.ts'

/** A process that was just being started carries its marks after this time. */
const appearsMs = 500

export class WatchedCommand {
  readonly #watch: WatchCommand
  readonly #tools: FarewellTools
  readonly #farewell: Farewell
  #started: WatchedStarted | null = null
  #hasExited = false
  #leaseEnded = false
  #cancelLease: Cancel = () => undefined
  /** Nobody starts it any more: it has ended, or the node is gone. */
  #isOver = false
  /** Nothing of it was left, and only the node can say that there is more. */
  #isResting = false
  /** Since when its end is wanted, or since the node did something that may show more of it. */
  #sinceMs = 0

  constructor(watch: WatchCommand, tools: FarewellTools) {
    this.#watch = watch
    this.#tools = tools
    this.#farewell = new Farewell(tools, (signal) => this.#signal(signal))
    this.renew(watch.leaseMs)
  }

  started(started: WatchedStarted): void {
    this.#started = started
    const { overdueMs } = this.#farewell
    if (overdueMs === null) return
    this.#signal(overdueMs < 0 ? 'SIGTERM' : 'SIGKILL')
    this.#lookAgain()
  }

  exited(graceMs: number): void {
    this.#hasExited = true
    this.#isOver = true
    this.#cancelLease()
    // An empty group is left alone from now on: its number may soon be another group's.
    if (this.#started !== null && !groupIsAlive(this.#started.pid)) {
      this.#started = { ...this.#started, leadsGroup: false }
    }
    this.#lookAgain()
    this.stop(graceMs)
  }

  /** It may have started the command just before. */
  nodeGone(): void {
    this.#isOver = true
    this.#lookAgain()
    this.stop(0)
  }

  #lookAgain(): void {
    this.#isResting = false
    this.#sinceMs = this.#tools.clock.monotonicMs()
    this.#tools.lookSoon()
  }

  /** The lease lasts `leaseMs` from now. */
  renew(leaseMs: number): void {
    if (this.#hasExited) return
    this.#cancelLease()
    this.#cancelLease = this.#tools.scheduler.after(leaseMs, () => {
      this.#leaseEnded = true
      this.stop(0)
    })
  }

  stop(graceMs: number): void {
    if (this.#farewell.overdueMs === null) this.#sinceMs = this.#tools.clock.monotonicMs()
    this.#farewell.begin(graceMs)
  }

  killGroup(): void {
    this.#signal('SIGKILL')
  }

  /** On Linux a lone process is found by its marks, as all its children are. */
  #signal(signal: KillSignal): void {
    if (this.#started === null) return
    const { pid, leadsGroup } = this.#started
    if (leadsGroup) signalGroup(pid, signal)
    else if (!this.#hasExited && process.platform !== 'linux') signalProcess(pid, signal)
  }

  get isStopping(): boolean {
    return this.#farewell.overdueMs !== null && !this.#isResting
  }

  /**
   * Signals what is left. Answers whether it is over, and nothing is left, or nothing that can be
   * ended.
   */
  look(processes: Processes): boolean {
    const { overdueMs } = this.#farewell
    if (overdueMs === null || this.#isResting) return false
    const group = this.#started?.leadsGroup === true ? this.#started.pid : null
    const strays = processes.strays(this.#watch.marks, group)
    this.#farewell.signalStrays(strays)
    const hasGroup = group !== null && processes.groupIsAlive(group)
    if (hasGroup && overdueMs >= 0) signalGroup(group, 'SIGKILL')
    const isGone = !hasGroup && strays.length === 0 && !this.#mayAppear()
    const isHopeless = Math.min(overdueMs, this.#forMs) >= killPatienceMs
    if (!isGone && !isHopeless) return false
    if (this.#isOver) {
      this.#farewell.cancel()
      this.#cancelLease()
    } else this.#rest(hasGroup)
    return this.#isOver
  }

  #rest(hasGroup: boolean): void {
    this.#isResting = true
    // Its number may be another group's by the time of the next signal.
    if (this.#started !== null && !hasGroup) {
      this.#started = { ...this.#started, leadsGroup: false }
    }
  }

  get #forMs(): number {
    return this.#tools.clock.monotonicMs() - this.#sinceMs
  }

  #mayAppear(): boolean {
    return !this.#hasExited && this.#forMs < appearsMs
  }

  /** The node may hear of the end of its command first, if it was stopped meanwhile. */
  get leaseEnded(): boolean {
    return this.#leaseEnded
  }

  get id(): number {
    return this.#watch.id
  }
}
