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
  /** Whether standard output is to be coloured. */
  readonly colour: boolean
  /** Whether somebody watches standard error: progress is for nobody else. */
  readonly watched: boolean
  /** How the log is written to standard error: JSON for programs, else for people. */
  readonly logStyle: 'json' | 'plain' | 'coloured'
  /** Aborts when nobody reads standard output any more. */
  readonly gone: AbortSignal
}

type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }

const columnsUsual = 80

export function streamTerminal(stdout: Stream, stderr: Stream, env: Environment): Terminal {
  const gone = new AbortController()
  // A reader that has seen enough (`| head`) is no failure of ours.
  const whenClosed = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error
    gone.abort()
  }
  stdout.on('error', whenClosed)
  stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  const shown = stdout.isTTY === true
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    // Some terminals say 0 for "not known".
    columns: shown ? stdout.columns || columnsUsual : null,
    colour: wantsColour(shown, env),
    watched: stderr.isTTY === true && env['TERM'] !== 'dumb',
    logStyle: logStyle(stderr.isTTY === true, env),
    gone: gone.signal,
  }
}

/** Colour is never forced into JSON: whoever reads that is a program. */
function logStyle(isTerminal: boolean, env: Environment): Terminal['logStyle'] {
  if (!isTerminal) return 'json'
  return wantsColour(true, env) ? 'coloured' : 'plain'
}

/** FORCE_COLOR, then NO_COLOR, then what the stream is. An empty one says nothing. */
export function wantsColour(isTerminal: boolean, env: Environment): boolean {
  const force = env['FORCE_COLOR'] ?? ''
  if (force !== '') return force !== '0' && force !== 'false'
  if ((env['NO_COLOR'] ?? '') !== '') return false
  return isTerminal && env['TERM'] !== 'dumb'
}
