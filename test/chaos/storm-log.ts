/**
 * The log of a child process of the storm: one line before each request and one after its answer,
 * each written to the child's own file at once, so that a kill loses no line. Times are of the
 * machine's monotonic clock, which all processes share.
 */
import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export type Verb = 'claim' | 'lease' | 'heartbeat' | 'complete' | 'release' | 'cancel' | 'rerun'

export interface Entry {
  readonly verb: Verb
  /** Unique in the whole storm; the holder of a grant does everything under the grant's actor. */
  readonly actor: string
  readonly runId?: string
  /** Which event of the pull request a claim was made for. */
  readonly pr?: number
  readonly event?: number
  /** The fence a holder writes under, or was granted. */
  readonly fence?: number
  readonly expiresAt?: number
  readonly granted?: boolean
  readonly reason?: string
}

export interface Logged extends Entry {
  readonly phase: 'asked' | 'done' | 'refused' | 'failed'
  readonly beganAt: number
  /** When this line was written. */
  readonly at: number
}

/** Heads come back (A → B → A): a pull request has five, and its events go round them. */
export const headOfEvent = (event: number): string => `h${event % 5}`

export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6

export function openLog(folder: string, name: string): (line: Logged) => void {
  const file = openSync(join(folder, `${name}.log`), 'a')
  return (line) => void writeSync(file, `${JSON.stringify(line)}\n`)
}

export function readLogs(folder: string): Logged[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Logged)
}
