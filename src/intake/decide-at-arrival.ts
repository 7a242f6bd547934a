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
  if (routes.length === 0) return { ...ignored(reasonWithoutRoutes(event)), waits: isRename(event) }
  const leadsToAct = routes.some(({ to }) => to !== 'nothing' && to !== 'skip')
  if (leadsToAct) return { decision: 'accepted', reason: null, outcomes: [], waits: true }
  const mainRoute = routes.find(({ to }) => to === 'skip') ?? routes[0]
  const reason = mainRoute !== undefined && 'reason' in mainRoute ? mainRoute.reason : 'no-trigger'
  // A head that a rule skips is still the head, so a run on an older head must be superseded.
  const waits = namesNewHead(event) && routes.some(({ to }) => to === 'skip')
  return { ...ignored(reason), outcomes: waits ? [] : routes.flatMap(outcomesOf), waits }
}

/** The outcome of a route that neither starts nor cancels anything; empty for any other route. */
export function outcomesOf(route: TypeRoute): TypeOutcome[] {
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
function isRename({ name, action, repo, repoId }: EventFacts): boolean {
  const moves = action === 'renamed' || action === 'transferred'
  return name === 'repository' && moves && repo !== null && repoId !== null
}
