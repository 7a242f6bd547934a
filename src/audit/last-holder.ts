/**
 * Who held a run last, by its audit. A run that failed has no holder any more, and a rerun leaves
 * it without one. A caller that only claims does not get the rerun; workers do, and so does
 * `holdfast exec`, which leases the run by its id (`as_caller`).
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
  if (type === 'run.leased') return data['as_caller'] === true ? 'caller' : 'worker'
  const isClaim = type === 'run.claimed' || type === 'run.reclaimed'
  return isClaim && data['state'] === 'running' ? 'caller' : null
}

/** Without a full stop, and without a capital. */
export const rerunOfCaller =
  'a worker or the next holdfast exec of the same work takes it; a program that only claims does ' +
  'not get it'
