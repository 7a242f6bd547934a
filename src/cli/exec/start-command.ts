/**
 * Starts the command and passes its output on.
 *
 * On a terminal the command has the terminal to itself: it stays in the foreground group, and its
 * input and output are the terminal's. Nothing of its output is kept then. Otherwise it leads a
 * session of its own, so that a signal reaches all its processes, and the end of its output is kept
 * for the run.
 *
 * What must hold:
 * - It has ended when its first process has exited and its output is complete, or a second after
 *   the exit. A process that it left behind cannot hold the end back.
 * - A reader that is slow makes the command wait, never this process. A reader that has gone lets
 *   the command's next write fail, as without us. Output that cannot be written is dropped.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { commandOutput, tailBytes } from '../../executors/command/command-output.ts'
import type { CommandEnd } from '../../executors/command/commands.ts'
import { makePipe, type PipeEnds } from '../../executors/command/guard/output-pipe.ts'
import { OutputTail } from '../../executors/command/guard/output-tail.ts'
import { startFailureText } from '../../executors/command/start-failure.ts'
import type { Cancel, Scheduler } from '../../scheduler.ts'
import type { Inherited } from '../world.ts'

/** How long after its exit a command's output is waited for. */
const outputPatienceMs = 1000

export interface CommandToStart {
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Hidden in what is kept of its output. */
  readonly secrets: readonly string[]
  readonly passed?: PassedLines
}

/** What was passed on to standard output so far. */
export interface PassedLines {
  /** False while its last line has no end. Unknown, and so true, if the command has a terminal. */
  areWhole: boolean
}

export interface StartedCommand {
  /** Null if it could not be started. */
  readonly pid: number | null
  /** Whether it leads a process group of its own. */
  readonly leadsGroup: boolean
  readonly ended: Promise<ExecEnd>
  /** Of its first process. Its output may not be complete yet. */
  hasExited(): boolean
  /** To the command, and to its group if it has one. */
  signal(signal: NodeJS.Signals): void
}

export interface ExecEnd extends CommandEnd {
  /** Such as `ENOENT`, if it could not be started. */
  readonly startCode: string | null
}

/**
 * Null if it may not be started. `mayStart` is asked last of all, because making the pipes takes a
 * while, and this process may be stopped meanwhile.
 */
export function startCommand(
  given: CommandToStart,
  inherited: Inherited,
  scheduler: Scheduler,
  mayStart: () => boolean,
): StartedCommand | null {
  const leadsGroup = !inherited.isTerminal
  const output = leadsGroup ? new PassedOutput(inherited, given) : null
  const { promise: ended, resolve } = Promise.withResolvers<ExecEnd>()
  const [program = '', ...args] = given.command
  if (!mayStart()) {
    output?.discard()
    return null
  }
  let child: ChildProcess | null = null
  try {
    child = withUmask(inherited.umask, () =>
      spawn(program, args, {
        cwd: given.cwd,
        env: given.env,
        detached: leadsGroup,
        stdio: output === null ? 'inherit' : ['inherit', ...output.stdio],
      }),
    )
    watchEnd(child, output, given, scheduler, resolve)
  } catch (error) {
    resolve(notStarted(error as NodeJS.ErrnoException, given))
  }
  output?.read(child)
  const pid = child?.pid ?? null
  return {
    pid,
    leadsGroup,
    ended,
    hasExited: () => child !== null && (child.exitCode !== null || child.signalCode !== null),
    signal(signal) {
      if (pid === null) return
      try {
        process.kill(leadsGroup ? -pid : pid, signal)
      } catch {
        // It has ended.
      }
    },
  }
}

/** Holdfast's own files are for its user only. A command decides that for its own files. */
function withUmask<T>(umask: number, start: () => T): T {
  const own = process.umask(umask)
  try {
    return start()
  } finally {
    process.umask(own)
  }
}

function watchEnd(
  child: ChildProcess,
  output: PassedOutput | null,
  given: CommandToStart,
  scheduler: Scheduler,
  resolve: (end: ExecEnd) => void,
): void {
  child.on('error', (error) => {
    // After a start, an error is about a signal that could not be sent.
    if (child.pid === undefined) resolve(notStarted(error, given))
  })
  child.on('exit', (exitCode, signal) => {
    const end = (): void => {
      const nothing = { output: '', cutOff: false }
      const kept = output?.end() ?? nothing
      const failure = { failure: null, failureText: null, startCode: null }
      resolve({ exitCode, signal, ...kept, ...failure })
    }
    if (output === null) return end()
    let cancel: Cancel = () => undefined
    // Output that waits for a slow reader is still the command's own.
    const wait = (): void => {
      cancel = scheduler.after(outputPatienceMs, () => (output.isBlocked ? wait() : end()))
    }
    wait()
    void output.complete.then(() => {
      cancel()
      end()
    })
  })
}

function notStarted(error: NodeJS.ErrnoException, { command, cwd }: CommandToStart): ExecEnd {
  const code = error.code ?? 'unknown'
  const failureText = startFailureText({ code, hasFolder: true }, { command, cwd })
  const nothing = { exitCode: null, signal: null, output: '', cutOff: false }
  return { ...nothing, failure: 'not_started', failureText, startCode: code }
}

const newline = 0x0a

/** Both outputs of a command, on their way to ours. */
class PassedOutput {
  readonly #inherited: Inherited
  readonly #secrets: readonly string[]
  readonly #passed: PassedLines | undefined
  readonly #tail: OutputTail
  readonly #pipes: readonly [PipeEnds | null, PipeEnds | null]
  readonly #complete = Promise.withResolvers<void>()
  #sources: readonly Readable[] = []
  /** How many wait for their reader. */
  #blocked = 0

  constructor(inherited: Inherited, { secrets, passed }: CommandToStart) {
    this.#inherited = inherited
    this.#secrets = secrets
    this.#passed = passed
    this.#tail = new OutputTail(tailBytes(secrets))
    // Real pipes, because a script may open /dev/stderr, which it cannot if that is a socket.
    this.#pipes = [makePipe(), makePipe()]
  }

  /** For the child's stdout and stderr. */
  get stdio(): readonly [number | 'pipe', number | 'pipe'] {
    const [out, err] = this.#pipes
    return [out?.writing ?? 'pipe', err?.writing ?? 'pipe']
  }

  /** Resolves when nobody can write any more. */
  get complete(): Promise<void> {
    return this.#complete.promise
  }

  /** Instead of a start. */
  discard(): void {
    for (const pipe of this.#pipes) {
      if (pipe === null) continue
      closeSync(pipe.writing)
      closeSync(pipe.reading)
    }
  }

  /** Right after the child was started, or could not be. */
  read(child: ChildProcess | null): void {
    const [out, err] = this.#pipes
    const { stdout, stderr } = this.#inherited
    const sources = [
      [sourceOf(out, child?.stdout), stdout],
      [sourceOf(err, child?.stderr), stderr],
    ] as const
    this.#sources = sources.flatMap(([source]) => source ?? [])
    let open = this.#sources.length
    for (const [source, target] of sources) {
      source?.once('close', () => {
        open -= 1
        if (open === 0) this.#complete.resolve()
      })
      if (source !== null) this.#pass(source, target)
    }
    if (open === 0) this.#complete.resolve()
  }

  get isBlocked(): boolean {
    return this.#blocked > 0 && !this.#sources.every(({ destroyed }) => destroyed)
  }

  #pass(source: Readable, target: Writable): void {
    // A full disk is no reason to end the command, so its output is read on.
    let isFull = false
    const onError = ({ code }: NodeJS.ErrnoException): void => {
      isFull ||= code !== 'EPIPE'
    }
    const stop = (): void => {
      if (isFull) source.resume()
      else source.destroy()
    }
    target.on('error', onError)
    target.once('close', stop)
    source.once('close', () => target.off('close', stop).off('error', onError))
    source.on('error', () => undefined)
    source.on('data', (chunk: Buffer) => {
      this.#tail.add(chunk)
      if (target.destroyed || isFull) return stop()
      if (this.#passed && target === this.#inherited.stdout) {
        this.#passed.areWhole = chunk.at(-1) === newline
      }
      if (target.write(chunk)) return
      source.pause()
      this.#blocked += 1
      target.once('drain', () => {
        this.#blocked -= 1
        source.resume()
      })
    })
  }

  /** Reads no more. */
  end() {
    for (const source of this.#sources) source.destroy()
    return commandOutput(this.#tail.read(), this.#tail.isCutOff, this.#secrets)
  }
}

/** Only the child's copy of the writing end may be open, or the pipe would never end. */
function sourceOf(pipe: PipeEnds | null, own: Readable | null | undefined): Readable | null {
  if (pipe === null) return own ?? null
  closeSync(pipe.writing)
  return new Socket({ fd: pipe.reading, readable: true, writable: false })
}
