/**
 * What is decided before the sender is answered: everything that needs no question to GitHub. Only
 * an event that leads to something waits for the processor.
 */
import type { InboxDecision, TypeOutcome } from '../domain/inbox.ts'
import type { TypeRoute } from './events/route-event.ts'
import { namesNewHead, type EventFacts } from './events/webhook-event.ts'

export interface ArrivalDecision {
  readonly decision: Exclude<InboxDecision, 'duplicate'>
  readonly reason: string | null
  /** Only of an event that is decided for good; otherwise the processor adds them. */
  readonly outcomes: readonly TypeOutcome[]
  readonly waits: boolean
}

export function decideAtArrival(event: EventFacts, routes: readonly TypeRoute[]): ArrivalDecision {
  if (routes.length === 0) return { ...ignored(reasonWithoutRoutes(event)), waits: renames(event) }
  const acts = routes.some(({ to }) => to !== 'nothing' && to !== 'skip')
  if (acts) return { decision: 'accepted', reason: null, outcomes: [], waits: true }
  const shown = routes.find(({ to }) => to === 'skip') ?? routes[0]
  const reason = shown !== undefined && 'reason' in shown ? shown.reason : 'no-trigger'
  // A head that a rule skips is still the head, so a run on an older head must be superseded.
  const waits = namesNewHead(event) && routes.some(({ to }) => to === 'skip')
  return { ...ignored(reason), outcomes: waits ? [] : routes.flatMap(noteOf), waits }
}

/** The outcome of a route that leads to no act of its own. */
export function noteOf(route: TypeRoute): TypeOutcome[] {
  if (!('reason' in route)) return []
  const { type, reason } = route
  const detail = 'detail' in route ? route.detail : undefined
  return [{ type, result: results[route.to], reason, runIds: [], ...(detail && { detail }) }]
}

const results = { nothing: 'ignored', skip: 'skipped', failure: 'failed' } as const

function ignored(reason: string): Omit<ArrivalDecision, 'waits'> {
  return { decision: 'ignored', reason, outcomes: [] }
}

/** Why an event that no run type listens to is ignored. */
export function reasonWithoutRoutes({ name, action }: EventFacts): string {
  if (name === 'ping') return 'ping'
  return name === 'repository' && action !== null ? `repository-${action}` : 'no-trigger'
}

/** No run starts, but the repository has another name from now on. */
function renames({ name, action, repo, repoId }: EventFacts): boolean {
  const moves = action === 'renamed' || action === 'transferred'
  return name === 'repository' && moves && repo !== null && repoId !== null
}
