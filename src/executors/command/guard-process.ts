/**
 * The guard as its node sees it: a child process and the channel to it.
 *
 * What must hold:
 * - `onLost` is called once, after everything that the guard still said was heard.
 * - The guard keeps this process alive only while it is `needed`.
 * - `onDrained` says when everything sent has left, so that its user need not queue without bound.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { getCompileCacheDir } from 'node:module'
import type { Socket } from 'node:net'
import { dirname, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Scheduler } from '../../scheduler.ts'
import { signsArgument } from './guard/lease-signs.ts'
import type { FromGuard, ToGuard } from './guard/messages.ts'

export interface GuardProcess {
  readonly pid: number | undefined
  send(message: ToGuard): void
  /** Something that was sent has not left yet. */
  readonly isBusy: boolean
  /** Resolves when the process has ended. */
  readonly exited: Promise<void>
  setNeeded(needed: boolean): void
  /** Lets it end by itself. It kills what it still has. */
  disconnect(): void
  kill(): void
}

export interface GuardEvents {
  readonly onMessage: (message: FromGuard) => void
  readonly onDrained: () => void
  readonly onLost: (loss: GuardLoss) => void
}

export interface GuardLoss {
  /** Such as `EAGAIN`, when there never was a process. */
  readonly startFailure: string | null
  /** What it wrote to stderr before it ended. */
  readonly lastWords: string
}

/** After its exit, what it said may still be on its way. */
const lastWordsMs = 1000
const lastWordsMax = 2000

/** What a Node needs to start. Above all not the run id of a run that this process belongs to. */
const passedOn = ['PATH', 'TMPDIR', 'LD_LIBRARY_PATH']

/** The program is TypeScript in a clone and JavaScript in a package, as this file is. */
const program = fileURLToPath(new URL(`./guard/main${extname(import.meta.url)}`, import.meta.url))

/** `signs`: the reading end of the pipe of lease signs. */
export function startGuard(
  scheduler: Scheduler,
  events: GuardEvents,
  signs: number | null = null,
): GuardProcess {
  const failed = ({ code = 'unknown' }: NodeJS.ErrnoException): void =>
    events.onLost({ startFailure: code, lastWords: '' })
  try {
    const child = spawnGuard(signs)
    if (child.pid !== undefined) return runningGuard(child, scheduler, events)
    child.on('error', failed)
  } catch (error) {
    scheduler.soon(() => failed(error as NodeJS.ErrnoException))
  }
  return guardThatNeverStarted
}

function spawnGuard(signs: number | null): ChildProcess {
  return spawn(process.execPath, [program, ...(signs === null ? [] : [signsArgument])], {
    cwd: '/',
    detached: true,
    env: guardEnvironment(),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', ...(signs === null ? [] : [signs])],
  })
}

const guardThatNeverStarted: GuardProcess = {
  pid: undefined,
  send: () => undefined,
  isBusy: true,
  exited: Promise.resolve(),
  setNeeded: () => undefined,
  disconnect: () => undefined,
  kill: () => undefined,
}

function runningGuard(
  child: ChildProcess,
  scheduler: Scheduler,
  events: GuardEvents,
): GuardProcess {
  const lastWords = readLastWords(child)
  let isLost = false
  let unsent = 0
  const lose = (): void => {
    if (isLost) return
    isLost = true
    child.kill('SIGKILL')
    events.onLost({ startFailure: null, lastWords: lastWords() })
  }
  // It is about a signal or a message, and the end of the guard explains it.
  child.on('error', () => undefined)
  child.on('message', (message) => events.onMessage(message as FromGuard))
  child.on('disconnect', lose)
  child.on('exit', () => {
    if (!isLost) scheduler.after(lastWordsMs, lose)
  })
  return {
    pid: child.pid,
    send(message) {
      unsent += 1
      child.send(message, () => {
        unsent -= 1
        if (unsent === 0 && !isLost) events.onDrained()
      })
    },
    get isBusy() {
      return unsent > 0
    },
    exited: new Promise((resolve) => child.once('exit', () => resolve())),
    setNeeded(needed) {
      const act = needed ? 'ref' : 'unref'
      child[act]()
      child.channel?.[act]()
    },
    disconnect() {
      if (child.connected) child.disconnect()
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

function guardEnvironment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {}
  for (const name of passedOn) {
    if (process.env[name] !== undefined) env[name] = process.env[name]
  }
  // Without it, Node would strip the types again, which takes 20 MB.
  const cache = getCompileCacheDir()
  if (cache !== undefined) env['NODE_COMPILE_CACHE'] = dirname(cache)
  return env
}

function readLastWords(child: ChildProcess): () => string {
  let words = ''
  const stderr = child.stderr as Socket | null
  stderr?.unref()
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-lastWordsMax)
  })
  return () => words.trim()
}
