/**
 * How a round ended, for a run that is in its next round already. The run shows only the round that
 * has begun, so its audit is read.
 */
import type { AuditView } from '../../contract/audit.ts'
import type { RunView } from '../../contract/runs.ts'
import { HoldfastError } from '../../errors.ts'
import { awayMsMax } from './get-lease.ts'
import { insist, unlessAborted, type Insisting } from './insist.ts'
import type { RunAccess } from './run-access.ts'

export type RoundEnd = Pick<RunView, 'state' | 'error'>

export interface Look {
  readonly access: RunAccess
  readonly insisting: Insisting
  readonly forMs?: number
  readonly signal?: AbortSignal
}

/** Null if nobody can say it. */
export async function findRoundEnd(
  { id, round }: RunView,
  { access, insisting, forMs = awayMsMax, signal = new AbortController().signal }: Look,
): Promise<RoundEnd | null> {
  const read = (): Promise<readonly AuditView[]> => unlessAborted(access.audit(id), signal)
  try {
    return roundEndOf(await insist(read, forMs, insisting, signal), round)
  } catch (error) {
    if (error instanceof HoldfastError) return null
    throw error
  }
}

const stateOfType: Readonly<Record<string, RunView['state']>> = {
  'run.succeeded': 'succeeded',
  'run.failed': 'failed',
  'run.skipped': 'skipped',
}

function roundEndOf(rows: readonly AuditView[], round: number): RoundEnd | null {
  for (const { type, data } of rows) {
    const state = stateOfType[type]
    if (state === undefined || data['round'] !== round) continue
    const { code, text } = data
    const isError = state === 'failed' && typeof code === 'string'
    return { state, error: isError ? { code, text: textOf(text) } : null }
  }
  return null
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
