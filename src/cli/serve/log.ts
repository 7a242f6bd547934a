/**
 * The program's log on standard error: readable on a terminal, otherwise JSON lines. In both forms,
 * everything that looks like a secret is hidden.
 */
import { pino, type Logger } from 'pino'
import { paintFor } from '../output/paint.ts'
import type { Terminal } from '../terminal.ts'
import { readableLine } from './log-line.ts'
import { maskSecrets } from './mask-secrets.ts'

export type Log = Logger

const secretFields = ['authorization', 'token', 'secret', 'password', 'adminToken', 'cookie']

export function makeLog(level: string, terminal: Pick<Terminal, 'err' | 'logStyle'>): Log {
  const paths = secretFields.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const { logStyle } = terminal
  const paint = paintFor(logStyle === 'coloured')
  const format = (line: string): string => (logStyle === 'json' ? line : readableLine(line, paint))
  return pino(
    { level, base: null, redact: { paths, censor } },
    { write: (line: string) => terminal.err(format(maskSecrets(line))) },
  )
}

/** The log may say whether a secret was given. */
function censor(value: unknown): unknown {
  return value === null || value === '(given)' ? value : '(hidden)'
}
