/**
 * Who held a run last, by its audit. A run that failed has no holder any more, and a rerun leaves
 * it without one. A caller that claimed the run does not get its rerun; workers do.
 */
import type { AuditRow } from '../domain/audit.ts'
import type { Holder } from '../domain/run.ts'

interface Row extends Pick<AuditRow, 'data'> {
  readonly type: string
}

/** `rows`: of one run, newest first. Returns null if no row says it. */
export function lastHolder(rows: readonly Row[]): Holder | null {
  return rows.map(holderOf).find((holder) => holder !== null) ?? null
}

function holderOf({ type, data }: Row): Holder | null {
  if (type === 'run.leased') return 'worker'
  const isClaim = type === 'run.claimed' || type === 'run.reclaimed'
  return isClaim && data['state'] === 'running' ? 'caller' : null
}

/** Without a full stop, and without a capital. */
export const rerunOfCaller = 'a worker must take it; the program that claimed it does not get it'
