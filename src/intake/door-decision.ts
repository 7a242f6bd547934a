/**
 * What the sender is told at once: everything that needs no look at GitHub is decided before the
 * answer. Only what leads to something waits to be processed.
 */
import type { InboxDecision, TypeOutcome } from '../domain/inbox.ts'
import type { TypeRoute } from './route-event.ts'
import { namesNewHead, type EventFacts } from './webhook-event.ts'

export interface DoorDecision {
  readonly decision: Exclude<InboxDecision, 'duplicate'>
  readonly reason: string | null
  /** Of an event that is decided for good; else they come with its processing. */
  readonly outcomes: readonly TypeOutcome[]
  readonly waits: boolean
}

export function decideAtDoor(event: EventFacts, routes: readonly TypeRoute[]): DoorDecision {
  if (routes.length === 0) return { ...ignored(reasonWithoutRoutes(event)), waits: renames(event) }
  const acts = routes.some(({ to }) => to !== 'nothing' && to !== 'skip')
  if (acts) return { decision: 'accepted', reason: null, outcomes: [], waits: true }
  const shown = routes.find(({ to }) => to === 'skip') ?? routes[0]
  const reason = shown !== undefined && 'reason' in shown ? shown.reason : 'no-trigger'
  // A head that is skipped by rule is still the head, and what worked on another must know.
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

function ignored(reason: string): Omit<DoorDecision, 'waits'> {
  return { decision: 'ignored', reason, outcomes: [] }
}

/** Why an event is ignored that no run type listens to. */
export function reasonWithoutRoutes({ name, action }: EventFacts): string {
  if (name === 'ping') return 'ping'
  return name === 'repository' && action !== null ? `repository-${action}` : 'no-trigger'
}

/** Nobody starts on it, but a repository has another name from now on. */
function renames({ name, action, repo, repoId }: EventFacts): boolean {
  const moves = action === 'renamed' || action === 'transferred'
  return name === 'repository' && moves && repo !== null && repoId !== null
}
