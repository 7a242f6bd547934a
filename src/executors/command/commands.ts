/**
 * Runs the commands of one process under its guard, which is started with the first command.
 *
 * What must hold:
 * - No command outlives its lease or this process, however that ends: the guard kills it. If the
 *   guard is lost, this process kills it, and the next command gets a new guard.
 * - `ended` always resolves. A guard that no longer answers to a stop is given up as lost.
 * - A guard that is slow makes nothing pile up here: of the renewals of a command, only the last
 *   one waits.
 */
import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Cancel, Scheduler } from '../../scheduler.ts'
import { hideSecrets } from '../../texts/hide-secrets.ts'
import { maskFor } from '../../texts/mask-values.ts'
import { commandOutput, tailBytes } from './command-output.ts'
import { startGuard, type GuardEvents, type GuardLoss, type GuardProcess } from './guard-process.ts'
import { killPatienceMs } from './guard/farewell.ts'
import type { CommandEnded, FromGuard, StartCommand } from './guard/messages.ts'
import { killLeftOver } from './kill-left-over.ts'
import { executionMarks, type ExecutionMarks } from './processes.ts'
import { guardFailureText, startFailureText } from './start-failure.ts'

/** From SIGTERM to SIGKILL. */
export const killGraceMs = 5000

/**
 * How long after the SIGKILL of a stop the guard may take to say that the command has ended. It
 * says so after `killPatienceMs` at the latest. With the grace this must be less than the time
 * that a process has to stop its work at SIGTERM (`cutOffMs`): what a frozen guard did not kill,
 * the node has to kill before it exits.
 */
const guardPatienceMs = killPatienceMs + 600

/** How long the guard may take to end when nothing is left for it to do. */
const closePatienceMs = 5000

/** One per process. */
export interface Commands {
  /** Starts the command. What the command does never makes `ended` reject. */
  run(request: CommandRequest): RunningCommand
  /** Kills what is left and ends the guard. */
  close(): Promise<void>
}

export interface CommandRequest {
  readonly runId: string
  /** The program and its arguments. There is no shell. */
  readonly command: readonly string[]
  /** The folder of the config file. */
  readonly cwd: string
  /** The whole environment of the command. Its run token tells two attempts of a run apart. */
  readonly env: Readonly<Record<string, string>>
  /** Its files. If this process dies they are removed with the command. */
  readonly folder?: string
  /** Hidden in everything that is kept of its output. */
  readonly secrets: readonly string[]
  /** Without `renew` for so long, by the guard's clock, the command is killed. */
  readonly leaseMs: number
  /** Names the lease for the thread that renews leases: see `leaseSigns`. */
  readonly leaseHash?: string
}

export interface RunningCommand {
  readonly ended: Promise<CommandEnd>
  /**
   * The lease was renewed and lasts `leaseMs` from now. Count it from before the renewal was asked
   * for, so that the command does not outlive the lease by the time the answer took.
   */
  renew(leaseMs: number): void
  /** SIGTERM to the whole group, SIGKILL after the grace. Later calls change nothing. */
  stop(): void
}

export interface CommandEnd {
  /** Null with a signal. Both are null for a command that could not be killed. */
  readonly exitCode: number | null
  readonly signal: string | null
  /** The last 64 KB of stdout and stderr together, in the order written, without secrets. */
  readonly output: string
  /** There was more output before. */
  readonly cutOff: boolean
  readonly failure: 'not_started' | 'guard_lost' | 'lease_ended' | null
  readonly failureText: string | null
}

export interface CommandsOptions {
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly log: Log
  /** From SIGTERM to SIGKILL. Default: 5 s. */
  readonly graceMs?: number
  /** A pipe through which a thread renews leases while this one is blocked: its reading end. */
  readonly leaseSigns?: number | null
}

interface CommandInHand {
  readonly id: number
  readonly request: CommandRequest
  readonly marks: ExecutionMarks
  readonly resolve: (end: CommandEnd) => void
  pid: number | null
  hasEnded: boolean
  isStopped: boolean
  cancelPatience: Cancel
  /** The end of its lease by our own monotonic clock. */
  leaseUntil: number
  /** The guard does not know that end yet. */
  isRenewalUnsent: boolean
}

export function createCommands(options: CommandsOptions): Commands {
  return new GuardedCommands(options)
}

class GuardedCommands implements Commands {
  readonly #options: CommandsOptions
  readonly #graceMs: number
  readonly #commands = new Map<number, CommandInHand>()
  /** The cleaning up after lost guards. */
  readonly #cleanups = new Set<Promise<void>>()
  #guard: GuardProcess | null = null
  #lastId = 0
  #isClosed = false
  /** For `close`: called when the guard has no command left, or is lost. */
  #onIdle: () => void = () => undefined

  constructor(options: CommandsOptions) {
    this.#options = options
    this.#graceMs = options.graceMs ?? killGraceMs
  }

  run(request: CommandRequest): RunningCommand {
    const { promise: ended, resolve } = Promise.withResolvers<CommandEnd>()
    if (this.#isClosed) {
      resolve(notEnded('not_started', 'Holdfast is shutting down and starts no more commands.'))
      return { ended, renew: () => undefined, stop: () => undefined }
    }
    const command = this.#add(request, resolve)
    const guard = (this.#guard ??= this.#startGuard())
    guard.setNeeded(true)
    guard.send(startMessage(command, this.#graceMs))
    return {
      ended,
      renew: (leaseMs) => this.#renew(command, leaseMs),
      stop: () => this.#stop(command),
    }
  }

  #add(request: CommandRequest, resolve: (end: CommandEnd) => void): CommandInHand {
    const command: CommandInHand = {
      id: (this.#lastId += 1),
      request,
      marks: executionMarks(request.runId, request.env),
      resolve,
      pid: null,
      hasEnded: false,
      isStopped: false,
      cancelPatience: () => undefined,
      leaseUntil: this.#options.clock.monotonicMs() + request.leaseMs,
      isRenewalUnsent: false,
    }
    this.#commands.set(command.id, command)
    return command
  }

  #startGuard(): GuardProcess {
    const { scheduler, leaseSigns } = this.#options
    const events: GuardEvents = {
      onMessage: (message) => this.#hear(message),
      onDrained: () => this.#sendRenewals(),
      onLost: (how) => this.#guardLost(guard, how),
    }
    const guard = startGuard(scheduler, events, leaseSigns)
    this.#options.log.debug({ pid: guard.pid }, 'Started the guard of commands')
    return guard
  }

  #renew(command: CommandInHand, leaseMs: number): void {
    command.leaseUntil = this.#options.clock.monotonicMs() + leaseMs
    this.#renewAtGuard(command)
  }

  /** At once, or when the guard has taken what was sent before. */
  #renewAtGuard(command: CommandInHand): void {
    if (command.hasEnded) return
    command.isRenewalUnsent = true
    if (this.#guard?.isBusy === false) this.#sendRenewals()
  }

  #sendRenewals(): void {
    for (const command of this.#commands.values()) {
      if (!command.isRenewalUnsent) continue
      const leaseMs = Math.max(0, command.leaseUntil - this.#options.clock.monotonicMs())
      command.isRenewalUnsent = false
      this.#guard?.send({ type: 'renew', id: command.id, leaseMs })
    }
  }

  #stop(command: CommandInHand): void {
    if (command.hasEnded || command.isStopped) return
    command.isStopped = true
    this.#guard?.send({ type: 'stop', id: command.id, graceMs: this.#graceMs })
    const patienceMs = this.#graceMs + guardPatienceMs
    command.cancelPatience = this.#options.scheduler.after(patienceMs, () => {
      const { runId } = command.request
      this.#options.log.error({ run_id: runId }, 'The guard of commands does not answer')
      this.#guard?.kill()
    })
  }

  #hear(message: FromGuard): void {
    const command = this.#commands.get(message.id)
    if (command === undefined) return
    switch (message.type) {
      case 'started':
        command.pid = message.pid
        // The guard has counted the lease from the start, which may have taken a while.
        return this.#renewAtGuard(command)
      case 'ended':
        return this.#finish(command, endOf(message, command.request))
      case 'watching':
        return
      case 'gone':
        this.#commands.delete(message.id)
        if (this.#commands.size === 0) this.#onIdle()
    }
  }

  #finish(command: CommandInHand, end: CommandEnd): void {
    if (command.hasEnded) return
    command.hasEnded = true
    command.cancelPatience()
    command.resolve(end)
    // Nobody waits for what a command has left behind. The guard ends it also without us.
    const isWaitedFor = [...this.#commands.values()].some(({ hasEnded }) => !hasEnded)
    if (!isWaitedFor && !this.#isClosed) this.#guard?.setNeeded(false)
  }

  #guardLost(guard: GuardProcess, loss: GuardLoss): void {
    if (this.#guard !== guard) return
    this.#guard = null
    const left = [...this.#commands.values()]
    this.#commands.clear()
    if (left.length > 0) {
      const details = { commands: left.length, stderr: hideSecrets(loss.lastWords) }
      this.#options.log.error(details, 'The guard of commands was lost')
    }
    const cleanup = this.#cleanUp(left, loss)
    this.#cleanups.add(cleanup)
    void cleanup.then(() => this.#cleanups.delete(cleanup))
    this.#onIdle()
  }

  async #cleanUp(left: readonly CommandInHand[], { startFailure }: GuardLoss): Promise<void> {
    for (const { cancelPatience } of left) cancelPatience()
    if (startFailure === null) {
      await killLeftOver(left, [process.pid], this.#options.scheduler)
    }
    const end =
      startFailure === null
        ? notEnded('guard_lost', 'The process that guards commands was lost, so this was killed.')
        : notEnded('not_started', guardFailureText(startFailure))
    for (const command of left) this.#finish(command, end)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const guard = this.#guard
    if (guard !== null) await this.#closeGuard(guard)
    await Promise.all(this.#cleanups)
  }

  async #closeGuard(guard: GuardProcess): Promise<void> {
    guard.setNeeded(true)
    const cancel = this.#options.scheduler.after(closePatienceMs, () => guard.kill())
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve))
    for (const { id } of this.#commands.values()) guard.send({ type: 'stop', id, graceMs: 0 })
    if (this.#commands.size > 0) await idle
    guard.disconnect()
    await guard.exited
    cancel()
  }
}

function startMessage({ id, request }: CommandInHand, graceMs: number): StartCommand {
  const { runId, command, cwd, env, folder = null, leaseMs, leaseHash = null, secrets } = request
  const lease = { leaseMs, leaseHash }
  const about = { runId, command, cwd, env, folder, ...lease }
  return { type: 'start', id, ...about, graceMs, tailBytes: tailBytes(secrets) }
}

function endOf(message: CommandEnded, request: CommandRequest): CommandEnd {
  const { exitCode, signal, startFailure, leaseEnded, tail } = message
  if (startFailure !== null) {
    const mask = maskFor(request.secrets)
    return notEnded('not_started', hideSecrets(mask(startFailureText(startFailure, request))))
  }
  const output = commandOutput(tail, message.cutOff, request.secrets)
  const failure = leaseEnded ? 'lease_ended' : null
  return { exitCode, signal, ...output, failure, failureText: endText(message) }
}

function endText({ exitCode, signal, leaseEnded }: CommandEnded): string | null {
  if (leaseEnded) return 'Its lease was not renewed in time, so it was killed.'
  if (exitCode !== null || signal !== null) return null
  return 'It could not be killed, and may still run. Does it run as another user?'
}

function notEnded(failure: 'not_started' | 'guard_lost', text: string): CommandEnd {
  const nothing = { exitCode: null, signal: null, output: '', cutOff: false }
  return { ...nothing, failure, failureText: text }
}
