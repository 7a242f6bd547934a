/**
 * Runs the command until it ends, and stops it when it has to.
 *
 *   superseded, cancelled, lost, refused   SIGTERM, SIGKILL 5 s later
 *   its lease cannot be renewed            SIGTERM before the lease ends, SIGKILL when it ends
 *   its run was completed by itself        10 s to end, then the same
 *   SIGINT, SIGTERM, SIGHUP to `exec`      passed on, SIGKILL 5 s later; on a terminal the command
 *                                          gets a Ctrl-C itself, and may go on if it chooses to
 *   nobody can guard it                    SIGKILL
 *
 * What must hold: it is never started without a live lease, and whatever happened first is the
 * reason of its end. A later reason still stops it. A short lease does not shorten these times once
 * the run has ended.
 * If this process was stopped for a while, it learns both at once: a command that ended meanwhile
 * ended by itself, unless the guard says that it has killed it, and the store decides whether its
 * result still counts.
 */
import { killLeftOver } from '../../executors/command/kill-left-over.ts'
import { killGraceMs } from '../../executors/command/commands.ts'
import type { Watch } from '../../executors/command/watch.ts'
import type { Cancel, Scheduler } from '../../scheduler.ts'
import type { Inherited } from '../world.ts'
import type { Interruption } from './interruption.ts'
import type { KeptLease, Loss, LossCode } from './keep-lease.ts'
import {
  startCommand,
  type CommandToStart,
  type ExecEnd,
  type StartedCommand,
} from './start-command.ts'
import { sentence } from '../../texts/sentences.ts'

export type Stop =
  | { readonly by: 'loss'; readonly loss: Loss }
  | { readonly by: 'interruption'; readonly signal: NodeJS.Signals }
  | { readonly by: 'guard' }

export interface CommandRun {
  readonly end: ExecEnd
  /** Null if it ended by itself. */
  readonly stop: Stop | null
}

export interface RunCommandOptions {
  readonly command: CommandToStart
  readonly inherited: Inherited
  readonly watch: Watch
  readonly kept: KeptLease
  readonly interruption: Interruption
  readonly scheduler: Scheduler
  readonly say: (words: string) => void
}

/** After its run was completed with its run token. */
const afterCompletionMs = 10_000
/** Until the guard has heard of a stop. */
const messageMsMax = 1000
/** How long after its SIGKILL the guard is trusted to have sent it. */
const guardPatienceMs = 2000
/** What SIGKILL has not ended after this time cannot be ended; it may be another user's. */
const giveUpMs = 5000

export async function runCommand(options: RunCommandOptions): Promise<CommandRun> {
  const { command, inherited, watch, kept, interruption, scheduler } = options
  // While everything was prepared, the run may have become somebody else's.
  const whyNot = (): Stop | null => {
    const loss = kept.lossByNow()
    if (loss !== null) return { by: 'loss', loss }
    const { name: signal } = interruption
    return signal === null ? null : { by: 'interruption', signal }
  }
  const started = startCommand(command, inherited, scheduler, () => whyNot() === null)
  if (started === null) return { end: neverStarted, stop: whyNot() }
  if (started.pid !== null) watch.started(started.pid, started.leadsGroup)
  const stopper = new Stopper(options, started)
  void kept.lost.then((loss) => {
    if (loss.code !== 'away') return stopper.lost(loss)
    // An exit that nobody has heard of yet is heard first.
    scheduler.soon(() => {
      if (!started.hasExited()) stopper.lost(loss)
    })
  })
  void watch.lost.then(() => stopper.unguarded())
  interruption.onEach((name) => stopper.interrupted(name))
  const end = await Promise.race([started.ended, stopper.gaveUp])
  return { end, stop: stopper.ended() }
}

const neverStarted: ExecEnd = {
  ...{ exitCode: null, signal: null, output: '', cutOff: false },
  ...{ failure: 'not_started', failureText: null, startCode: null },
}

const unknownEnd: ExecEnd = { ...neverStarted, failure: null }

/** Otherwise somebody else may work on it once the lease is over, or does so already. */
const hasEndedRun = (code: LossCode): boolean =>
  code === 'ended' || code === 'superseded' || code === 'cancelled'

class Stopper {
  readonly #options: RunCommandOptions
  readonly #started: StartedCommand
  #reason: Stop | null = null
  #hasEnded = false
  readonly #giveUp = Promise.withResolvers<ExecEnd>()
  readonly #timers: Cancel[] = []

  constructor(options: RunCommandOptions, started: StartedCommand) {
    this.#options = options
    this.#started = started
  }

  lost(loss: Loss): void {
    if (this.#hasEnded) return
    this.#reason ??= { by: 'loss', loss }
    const { kept, say, watch } = this.#options
    const endsByItselfMs = loss.code === 'ended' ? afterCompletionMs : 0
    // Its lease, which is renewed no more, must not end it earlier than is said here.
    if (hasEndedRun(loss.code)) watch.renew(endsByItselfMs + killGraceMs + messageMsMax)
    if (endsByItselfMs > 0) {
      say('The run was completed with its run token; the command has 10 s to end.')
      this.#later(endsByItselfMs, () => this.#stop(killGraceMs))
    } else {
      say(sentence(`Stopping the command: ${loss.text}`))
      this.#stop(loss.code === 'away' ? Math.min(killGraceMs, kept.leftMs()) : killGraceMs)
    }
  }

  interrupted(signal: NodeJS.Signals): void {
    if (this.#hasEnded) return
    this.#reason ??= { by: 'interruption', signal }
    // Ctrl-C reaches everything in the foreground.
    if (this.#options.inherited.isTerminal && signal === 'SIGINT') return
    this.#started.signal(signal)
    this.#later(killGraceMs, () => this.#stop(0))
  }

  unguarded(): void {
    if (this.#hasEnded) return
    this.#reason ??= { by: 'guard' }
    const { watch, scheduler } = this.#options
    const { pid, leadsGroup } = this.#started
    this.#started.signal('SIGKILL')
    const left = { pid: leadsGroup ? pid : null, marks: watch.marks }
    void killLeftOver([left], [process.pid], scheduler)
  }

  ended(): Stop | null {
    this.#hasEnded = true
    for (const cancel of this.#timers) cancel()
    return this.#reason
  }

  #stop(graceMs: number): void {
    this.#options.watch.stop(graceMs)
    this.#later(graceMs + guardPatienceMs, () => this.#started.signal('SIGKILL'))
    this.#later(graceMs + giveUpMs, () => {
      this.#options.say('The command cannot be killed, and may still run as another user.')
      this.#giveUp.resolve(unknownEnd)
    })
  }

  /** Resolves if the command goes on although it was killed. */
  get gaveUp(): Promise<ExecEnd> {
    return this.#giveUp.promise
  }

  #later(ms: number, task: () => void): void {
    this.#timers.push(this.#options.scheduler.after(ms, task))
  }
}
