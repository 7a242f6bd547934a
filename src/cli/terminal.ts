/**
 * What a person sees. Answers go to standard output, everything else to standard error, so that
 * the output of a command can be piped on.
 */
import type { Environment } from '../settings/environment.ts'

export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Columns of the terminal that shows standard output; null when it is a file or a pipe. */
  readonly columns: number | null
  /** The same of standard error. */
  readonly errColumns: number | null
  /** Whether standard output is to be coloured. */
  readonly colour: boolean
  /** Whether standard error is a terminal that can redraw a line. Only then progress is shown. */
  readonly watched: boolean
  /** How the log is written to standard error: JSON for programs, the others for people. */
  readonly logStyle: 'json' | 'plain' | 'coloured'
  /** Aborts when nobody reads standard output any more, or when it cannot be written. */
  readonly gone: AbortSignal
  /** Whether an answer was lost, because standard output cannot be written: its disk is full. */
  readonly lostAnswer: () => boolean
}

type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }

const columnsDefault = 80

export function streamTerminal(stdout: Stream, stderr: Stream, env: Environment): Terminal {
  const gone = new AbortController()
  let hasAnswer = false
  let isBroken = false
  stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    gone.abort()
    // It is not a failure if the reader stops early, as `head` does.
    if (code === 'EPIPE' || isBroken) return
    isBroken = true
    stderr.write(`holdfast: Standard output cannot be written (${code ?? 'unknown error'}).\n`)
  })
  // There is no other place for messages. What is going on is not ended because of that.
  stderr.on('error', () => undefined)
  const isTerminal = stdout.isTTY === true
  return {
    out: (text) => {
      hasAnswer = true
      stdout.write(text)
    },
    err: (text) => void stderr.write(text),
    columns: columnsOf(stdout),
    errColumns: columnsOf(stderr),
    colour: wantsColour(isTerminal, env),
    watched: stderr.isTTY === true && env['TERM'] !== 'dumb',
    logStyle: logStyle(stderr.isTTY === true, env),
    gone: gone.signal,
    lostAnswer: () => hasAnswer && isBroken,
  }
}

function columnsOf({ isTTY, columns }: Stream): number | null {
  // Some terminals report 0 if the width is unknown.
  return isTTY === true ? columns || columnsDefault : null
}

/** JSON never has colours, because programs read it. */
function logStyle(isTerminal: boolean, env: Environment): Terminal['logStyle'] {
  if (!isTerminal) return 'json'
  return wantsColour(true, env) ? 'coloured' : 'plain'
}

/**
 * FORCE_COLOR decides first, then NO_COLOR, then whether the stream is a terminal. An empty
 * variable counts as not set.
 */
export function wantsColour(isTerminal: boolean, env: Environment): boolean {
  const force = env['FORCE_COLOR'] ?? ''
  if (force !== '') return force !== '0' && force !== 'false'
  if ((env['NO_COLOR'] ?? '') !== '') return false
  return isTerminal && env['TERM'] !== 'dumb'
}
