/**
 * Who holds a run, and what is said to somebody who no longer does. Expiry alone takes nothing
 * away: until a claim or the sweeper gives the run to another, its holder may renew and complete.
 */
import type { Run } from './run.ts'

export const lossCodes = ['superseded', 'cancelled', 'lease_lost'] as const
export type LossCode = (typeof lossCodes)[number]

export function lossOf(run: Run, holds: boolean): LossCode | null {
  if (run.state === 'superseded') return 'superseded'
  if (run.state === 'cancelled') return 'cancelled'
  if (!holds || (run.state !== 'running' && run.state !== 'waiting')) return 'lease_lost'
  return null
}
