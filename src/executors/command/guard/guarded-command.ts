/**
 * One command under the guard, from its start until none of its processes is left.
 *
 * What must hold:
 * - It leads a process group of its own. Every signal goes to the whole group, and to its processes
 *   outside the group that `look` is given.
 * - It has ended when its first process has exited and its output is complete, or a second after
 *   the exit. A process that it left behind cannot hold the end back.
 * - What it left behind is ended too: SIGTERM, then SIGKILL.
 * - When its lease ends it is killed at once, because somebody else may already do the same work.
 * - Once the group was seen empty it is never signalled again: its number may be another group's.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { statSync } from 'node:fs'
import type { Cancel } from '../../../scheduler.ts'
import {
  executionMarks,
  groupIsAlive,
  signalGroup,
  type ExecutionMarks,
  type KillSignal,
  type Processes,
} from '../processes.ts'
import { Farewell, killPatienceMs, type FarewellTools } from './farewell.ts'
import type { FromGuard, StartCommand, StartFailure } from './messages.ts'
import { openOutputPipe } from './output-pipe.ts'
import { OutputTail } from './output-tail.ts'

/** How long after its exit a command's output is waited for. */
export const outputPatienceMs = 1000

export interface GuardTools extends FarewellTools {
  readonly send: (message: FromGuard) => void
}

interface Exit {
  readonly code: number | null
  readonly signal: string | null
}

export class GuardedCommand {
  readonly #marks: ExecutionMarks
  readonly #start: StartCommand
  readonly #tools: GuardTools
  readonly #tail: OutputTail
  readonly #pipe = openOutputPipe()
  #pid: number | null = null
  #groupIsAlive = false
  #exit: Exit | null = null
  #startFailure: StartFailure | null = null
  /** Each never says more than is true, and the node may know less than its thread. */
  #nodeSaidUntil = -Infinity
  #threadSaidUntil = -Infinity
  #leaseEnded = false
  #hasEnded = false
  #cancelLease: Cancel = nothing
  #cancelOutputWait: Cancel = nothing
  readonly #farewell: Farewell
  #outputIsComplete = false

  constructor(start: StartCommand, tools: GuardTools) {
    this.#start = start
    this.#tools = tools
    this.#tail = new OutputTail(start.tailBytes)
    this.#marks = executionMarks(start.runId, start.env)
    this.#farewell = new Farewell(tools, (signal) => this.#signalGroup(signal))
    this.renew(start.leaseMs)
    const child = this.#spawn()
    this.#pipe.read(
      child,
      (output) => this.#tail.add(output),
      () => this.#outputEnded(),
    )
  }

  #spawn(): ChildProcess | null {
    const { command, cwd, env } = this.#start
    const [program = '', ...args] = command
    const { stdio } = this.#pipe
    try {
      const child = spawn(program, args, {
        cwd,
        env,
        detached: true,
        stdio: ['ignore', stdio, stdio],
      })
      child.on('error', (error: NodeJS.ErrnoException) => this.#failed(error))
      child.on('exit', (code, signal) => this.#exited({ code, signal }))
      if (child.pid !== undefined) this.#started(child.pid)
      return child
    } catch (error) {
      // After the constructor, so that the end is never reported before the command is known.
      this.#tools.scheduler.soon(() => this.#failed(error as NodeJS.ErrnoException))
      return null
    }
  }

  #started(pid: number): void {
    this.#pid = pid
    this.#groupIsAlive = true
    this.#tools.send({ type: 'started', id: this.#start.id, pid })
  }

  #failed({ code = 'unknown' }: NodeJS.ErrnoException): void {
    // After a start, an error is about a signal that could not be sent.
    if (this.#pid !== null) return
    this.#startFailure = { code, hasFolder: isFolder(this.#start.cwd) }
    this.#end()
  }

  #exited(exit: Exit): void {
    if (this.#pid === null) return
    this.#exit = exit
    this.#groupIsAlive = groupIsAlive(this.#pid)
    if (this.#outputIsComplete) return this.#end()
    this.#cancelOutputWait = this.#tools.scheduler.after(outputPatienceMs, () => this.#end())
  }

  #outputEnded(): void {
    this.#outputIsComplete = true
    if (this.#exit !== null) this.#end()
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#cancelLease()
    this.#cancelOutputWait()
    this.#pipe.close()
    this.#tools.send({
      type: 'ended',
      id: this.#start.id,
      exitCode: this.#exit?.code ?? null,
      signal: this.#exit?.signal ?? null,
      leaseEnded: this.#leaseEnded,
      startFailure: this.#startFailure,
      tail: this.#tail.read(),
      cutOff: this.#tail.isCutOff,
    })
    this.stop(this.#start.graceMs)
  }

  /** The lease lasts `leaseMs` from now, or longer if the thread that renews leases said so. */
  renew(leaseMs: number): void {
    this.#nodeSaidUntil = this.#tools.clock.monotonicMs() + leaseMs
    this.#watchLease()
  }

  /** The thread that renews leases says that this one lasts `leaseMs` from now. */
  signRenewed(leaseHash: string, leaseMs: number): void {
    if (leaseHash !== this.#start.leaseHash) return
    const until = this.#tools.clock.monotonicMs() + leaseMs
    this.#threadSaidUntil = Math.max(until, this.#threadSaidUntil)
    this.#watchLease()
  }

  #watchLease(): void {
    if (this.#hasEnded || this.#leaseEnded) return
    this.#cancelLease()
    const until = Math.max(this.#nodeSaidUntil, this.#threadSaidUntil)
    const leftMs = Math.max(0, until - this.#tools.clock.monotonicMs())
    this.#cancelLease = this.#tools.scheduler.after(leftMs, () => {
      this.#leaseEnded = this.#exit === null
      this.stop(0)
    })
  }

  stop(graceMs: number): void {
    this.#farewell.begin(graceMs)
  }

  killGroup(): void {
    this.#signalGroup('SIGKILL')
  }

  #signalGroup(signal: KillSignal): void {
    if (this.#pid !== null && this.#groupIsAlive) signalGroup(this.#pid, signal)
  }

  /** Whether signals were sent, so that `look` has something to do. */
  get isStopping(): boolean {
    return this.#farewell.overdueMs !== null
  }

  /** Signals what is left. Answers whether nothing is left, or nothing that can be ended. */
  look(processes: Processes): boolean {
    const { overdueMs } = this.#farewell
    if (overdueMs === null) return false
    const strays = processes.strays(this.#marks, this.#pid)
    this.#farewell.signalStrays(strays)
    if (overdueMs >= 0) this.#signalGroup('SIGKILL')
    // Its own process is in the group until the exit was seen.
    if (this.#exit !== null) this.#groupIsAlive &&= processes.groupIsAlive(this.#pid ?? 0)
    if (overdueMs >= killPatienceMs) this.#end()
    const isGone = !this.#groupIsAlive && strays.length === 0
    if (!this.#hasEnded || (!isGone && overdueMs < killPatienceMs)) return false
    this.#farewell.cancel()
    return true
  }

  get leaseEnded(): boolean {
    return this.#leaseEnded
  }

  get id(): number {
    return this.#start.id
  }
}

function nothing(): void {
  // Stands for the cancelling of a timer that was never set.
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
