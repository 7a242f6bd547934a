/**
 * Who holds a run, and the error for a holder that lost it. The end of a lease alone takes nothing
 * away: until a claim or the sweeper gives the run to another holder, it may be renewed or
 * completed.
 */
import type { Run } from './run.ts'

export type LossCode = 'superseded' | 'cancelled' | 'ended' | 'lease_lost'

/**
 * `completed`: this lease ended the run, or the round before the one that a wanted rerun began.
 */
export function lossOf(
  run: Pick<Run, 'state'>,
  holds: boolean,
  completed: boolean,
): LossCode | null {
  if (run.state === 'superseded') return 'superseded'
  if (run.state === 'cancelled') return 'cancelled'
  if (completed) return 'ended'
  if (!holds || (run.state !== 'running' && run.state !== 'waiting')) return 'lease_lost'
  return null
}
