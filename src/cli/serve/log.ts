/** The program's log: JSON lines on standard error. What looks like a secret is cut out. */
import { pino, type Logger } from 'pino'
import { maskSecrets } from './mask-secrets.ts'
import type { Terminal } from '../terminal.ts'

export type Log = Logger

const secretFields = ['authorization', 'token', 'secret', 'password', 'adminToken', 'cookie']

export function makeLog(level: string, terminal: Pick<Terminal, 'err'>): Log {
  const paths = secretFields.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  return pino(
    { level, base: null, redact: { paths, censor } },
    { write: (line: string) => terminal.err(maskSecrets(line)) },
  )
}

/** Whether a secret was given may be told. */
function censor(value: unknown): unknown {
  return value === null || value === '(given)' ? value : '(hidden)'
}
