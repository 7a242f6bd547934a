/** Gates without a lease: the claim was refused, or the gate failed open without the store. */
import { pullRequestKey } from '../domain/pair.ts'
import { ConflictError } from '../errors.ts'
import type { Gate } from './holdfast.ts'
import type { CheckedClaim } from './requests.ts'

export type GateVerbs = Pick<Gate, 'complete' | 'report' | 'publish'>

/** Never aborts, because there is no lease that could be lost. */
export const neverAborted: AbortSignal = new AbortController().signal

/** The gate if the store could not be reached. */
export function storeErrorGate(
  claim: CheckedClaim,
  resultMark: string,
  choice: 'open' | 'closed',
): Gate {
  const runKey = pullRequestKey(claim.repo, claim.prNumber, claim)
  return {
    shouldProcess: choice === 'open',
    runKey,
    reason: 'store-error',
    supersededRunKeys: [],
    resultMark,
    run: null,
    lease: null,
    signal: neverAborted,
    ...(choice === 'open' ? withoutRun : ungranted(runKey, 'store-error')),
  }
}

/** For a gate that failed open, which has no run. */
const withoutRun: GateVerbs = {
  complete: () => Promise.resolve(null),
  report: () => Promise.resolve(),
  publish: () => Promise.resolve(null),
}

export function ungranted(runKey: string, reason: Gate['reason']): GateVerbs {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new ConflictError('lease_lost', `${runKey} was not granted to this gate: ${reason}`, {
        hint: 'Work only where shouldProcess is true.',
      }),
    )
  return { complete: refuse, report: refuse, publish: refuse }
}
