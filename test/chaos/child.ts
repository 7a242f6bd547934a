/**
 * Starts child processes that open the store themselves, as real nodes do. A child reports when it
 * is ready, waits for the start signal, and ends when its parent ends.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export interface Child {
  readonly process: ChildProcess
  /** Resolves when the program has loaded and waits in `untilLetGo`. */
  readonly ready: Promise<void>
  /** The start signal. `untilLetGo` resolves with `word` in the program. */
  go(word?: object): void
  /** What the program sent with `report`; rejects when it ended without a report. */
  readonly report: Promise<unknown>
  /** Resolves when the process is gone. */
  readonly ended: Promise<void>
  kill(): Promise<void>
}

export function startChild(program: string, config: object): Child {
  const file = new URL(program, import.meta.url)
  const child = fork(file, [JSON.stringify(config)], { execArgv: [] })
  const ended = once(child, 'exit').then(() => undefined)
  const ready = message(child, 'ready').then(() => undefined)
  const report = message(child, 'report')
  for (const promise of [ready, report]) promise.catch(() => undefined)
  return {
    process: child,
    ready,
    go: (word = {}) => void child.send(word),
    report,
    ended,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

interface Message {
  readonly kind: string
  readonly what: unknown
}

function message(child: ChildProcess, kind: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.on('message', (sent) => {
      if ((sent as Message).kind === kind) resolve((sent as Message).what)
    })
    child.once('exit', (code, signal) =>
      reject(new Error(`the child ended (${signal ?? code}) before it sent ${kind}`)),
    )
  })
}

/** Starts several processes and sends all of them the start signal at the same moment. */
export async function startTogether(program: string, configs: object[]): Promise<Child[]> {
  const children = configs.map((config) => startChild(program, config))
  await Promise.all(children.map(({ ready }) => ready))
  for (const child of children) child.go()
  return children
}

/** In the child: what the parent started it with. */
export const settings = (): unknown => JSON.parse(process.argv[2] ?? 'null')

/** In the child: reports that it is ready. Resolves with the parent's start signal. */
export function untilLetGo(): Promise<unknown> {
  process.once('disconnect', () => process.exit(1))
  // A listener keeps the process alive until its parent ends it.
  const letGo = new Promise((resolve) => process.on('message', resolve))
  process.send?.({ kind: 'ready' })
  return letGo
}

/** In the child: sends the parent its result, which the parent reads as `report`. */
export function report(what: unknown): void {
  process.send?.({ kind: 'report', what })
}
