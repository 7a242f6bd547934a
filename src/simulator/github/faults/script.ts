/**
 * Decides which fault hits which request. A request gets at most one fault: the first due one, in
 * the order in which they were added. So two faults for the same route hit two requests.
 */
import type { ReceivedRequest } from '../request.ts'
import type { Router } from '../routes/router.ts'
import type { Fault } from './fault.ts'
import * as makers from './makers.ts'

export interface FaultTarget {
  readonly method?: string
  /** A route's template, or a pattern for `METHOD /path`. All requests if absent. */
  readonly route?: string | RegExp
  /** Login of the account that sends the request, or `app`. */
  readonly identity?: string
  /** The first request to hit, counted among those that match; 1 if absent. */
  readonly nth?: number
  /** How many requests to hit from there. If absent, the fault decides: most hit one. */
  readonly times?: number
}

export interface FaultHandle {
  /** How many requests it has hit. */
  readonly hits: number
  /** Lets the requests continue that the fault holds back. */
  release(): void
  /** It hits no more requests. Requests that it holds back stay held. */
  remove(): void
}

export type FaultMakers = typeof makers

export interface FaultScript extends FaultMakers {
  add(script: { readonly on?: FaultTarget; readonly fault: Fault }): FaultHandle
  clear(): void
}

interface ScriptEntry {
  readonly matches: (received: ReceivedRequest) => boolean
  readonly fault: Fault
  readonly nth: number
  readonly times: number
  matched: number
  hits: number
}

export function createFaultScript(router: Router): {
  readonly script: FaultScript
  /** The fault for this request, which then counts as hit; null for none. */
  take(received: ReceivedRequest): Fault | null
} {
  const entries = new Set<ScriptEntry>()
  return {
    script: {
      ...makers,
      add: ({ on = {}, fault }) => {
        const times = on.times ?? fault.times ?? 1
        const entry = {
          matches: matcherFor(on, router),
          fault,
          nth: on.nth ?? 1,
          times,
          matched: 0,
          hits: 0,
        }
        entries.add(entry)
        return {
          get hits() {
            return entry.hits
          },
          release: () => fault.release?.(),
          remove: () => void entries.delete(entry),
        }
      },
      clear: () => entries.clear(),
    },
    take: (received) => {
      const matching = [...entries].filter(({ matches }) => matches(received))
      for (const entry of matching) entry.matched++
      const due = matching.find(({ matched, nth, hits, times }) => matched >= nth && hits < times)
      if (due === undefined) return null
      due.hits++
      return due.fault
    },
  }
}

function matcherFor(on: FaultTarget, router: Router): ScriptEntry['matches'] {
  const { route, method, identity } = on
  const template = typeof route === 'string' ? router.knownTemplate(route) : null
  return (received) =>
    (method === undefined || method.toUpperCase() === received.method) &&
    (identity === undefined || identity === received.identity) &&
    (template === null || template === received.route) &&
    (!(route instanceof RegExp) || `${received.method} ${received.path}`.search(route) !== -1)
}
