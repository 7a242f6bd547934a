/**
 * Handles one request from its arrival to what its sender sees: the core, with a fault around it if
 * the script has one for it.
 */
import type { Scheduler } from '../../scheduler.ts'
import type { Core } from './core.ts'
import { answered, type Fault, type Outcome } from './faults/fault.ts'
import type { RateLimits } from './rate-limit.ts'
import type { GitHubAnswer, GitHubRequest, ReceivedRequest } from './request.ts'

/** Both connections pass their requests to this. */
export type Receive = (request: GitHubRequest) => Promise<Outcome>

export interface ExchangeParts {
  readonly core: Core
  readonly limits: RateLimits
  readonly scheduler: Scheduler
  takeFault(received: ReceivedRequest): Fault | null
  expireTokens(): void
}

export function createReceive(parts: ExchangeParts): Receive {
  const { core, limits, scheduler } = parts
  return async (request) => {
    const incoming = core.read(request)
    const { received, key } = incoming
    const fault = parts.takeFault(received)
    // If the connection never opened, GitHub received nothing.
    if (fault?.neverOpens === true) return { kind: 'refused' }
    core.record(incoming)
    if (fault === null) return answered(core.perform(incoming, 0))
    received.fault = fault.name
    let answer: GitHubAnswer | undefined
    return fault.run({
      request,
      received,
      scheduler,
      perform: (options) => (answer ??= core.perform(incoming, options?.lagMs ?? 0)),
      refuse: (refusal) => core.refuse(incoming, refusal),
      exhaust: (forMs) => limits.exhaust(key, forMs),
      block: (forMs, form) => limits.block(key, forMs, form),
      expireTokens: () => parts.expireTokens(),
    })
  }
}
