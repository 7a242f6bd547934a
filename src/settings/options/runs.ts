/** Settings of all runs; what differs by run type is in the config file. */
import { option } from './option.ts'
import { wholeNumber } from './value-kind.ts'
import { dayMs } from './option.ts'

export const runsOptions = {
  leaseMs: option({
    env: 'HOLDFAST_LEASE_MS',
    kind: wholeNumber(1000, dayMs),
    unit: 'milliseconds',
    default: 60_000,
    summary: 'How long a worker keeps a run without sending a heartbeat',
    advice:
      'A shorter lease finds a dead worker sooner. A longer one tolerates a slow network and ' +
      'needs fewer writes. Workers send a heartbeat after a third of it.',
    secret: 'no',
  }),
} as const
