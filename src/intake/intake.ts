/**
 * The webhook door behind HTTP: verify, decide what can be decided at once, store, answer. A
 * delivery is answered only after its commit; one that is refused leaves nothing behind.
 */
import type { Metrics } from '../metrics.ts'
import { runIdsOf, type InboxDecision, type InboxEntry } from '../domain/inbox.ts'
import type { IdempotencyKey, Store } from '../store.ts'
import { decideAtDoor } from './door-decision.ts'
import { learnRepository } from './learn-repository.ts'
import type { OwnAccountWatch } from './own-account-watch.ts'
import { packBody, parsePayload } from './parse-payload.ts'
import type { Processor } from './processor.ts'
import { routeEvent, worksOnPullRequests, type RunTypes } from './route-event.ts'
import { isSignedBy } from './signature.ts'
import {
  eventKeyOf,
  factsOf,
  laneOf,
  makesHead,
  readEvent,
  storedName,
  type EventFacts,
} from './webhook-event.ts'

/** A repeat that comes while the first is being processed waits this long for its runs. */
const repeatWaitMs = 1000

export interface IncomingWebhook {
  readonly webhookId: string
  readonly event: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** It never came: we found that it had happened. */
  readonly caughtUp?: boolean
  /** What GitHub was answered when it sent this; 0 when it reached nobody. */
  readonly answered?: number | null
}

export interface IntakeAnswer {
  readonly inboxId: string
  readonly decision: InboxDecision
  readonly reason: string | null
  readonly runIds: readonly string[]
}

export interface Intake {
  isSigned(body: Buffer, signature: string | undefined): boolean
  /** Of a delivery whose signature is right, or that GitHub itself told us of. */
  receive(delivery: IncomingWebhook): Promise<IntakeAnswer>
  replay(entryId: string, actor: string, idempotencyKey?: IdempotencyKey): Promise<InboxEntry>
}

export interface IntakeOptions {
  readonly secrets: readonly string[]
  readonly types: RunTypes
  readonly store: Store
  readonly processor: Processor
  readonly account: Pick<OwnAccountWatch, 'current' | 'hasAsked'>
  readonly metrics: Metrics
}

export function createIntake(options: IntakeOptions): Intake {
  const { secrets, store, processor } = options
  return {
    isSigned: (body, signature) => isSignedBy(secrets, body, signature),
    receive: (delivery) => receive(options, delivery),
    async replay(entryId, actor, idempotencyKey) {
      const entry = await store.inbox.replay(entryId, actor, idempotencyKey ?? null)
      void processor.kick()
      return entry
    },
  }
}

async function receive(options: IntakeOptions, delivery: IncomingWebhook): Promise<IntakeAnswer> {
  const { store, processor, types, account, metrics } = options
  const { webhookId, headers, body } = delivery
  const event = readEvent(webhookId, delivery.event, parsePayload(body))
  // First: a rule of the configuration is handed the payload, and might change it.
  const eventKey = eventKeyOf(event)
  const routes = routeEvent(event, types, account.current())
  const door = decideAtDoor(event, routes)
  // First, too: of what waits for nobody no more than this is done, and it must not be forgotten.
  if (!door.waits && concernsPullRequests(event, types)) await learnRepository(store, event)
  const received = await store.inbox.receive({
    webhookId,
    event: storedName(event),
    action: event.action,
    repo: event.repo,
    repoId: event.repoId,
    number: event.number,
    sender: event.sender?.login ?? null,
    lane: laneOf(event),
    eventAt: event.eventAt,
    prState: event.prState,
    eventKey,
    head: event.head && { sha: event.head.headSha, isMade: makesHead(event) },
    ...door,
    caughtUp: delivery.caughtUp ?? false,
    answered: delivery.answered ?? null,
    body: { headers: JSON.stringify(headers), body: packBody(body) },
  })
  const { entry, arrived, storedId } = received
  if (arrived !== 'new') {
    metrics.webhook(event.name, 'duplicate')
    const reason = arrived === 'again' ? 'same-delivery' : arrived
    return await repeatAnswer(options, entry, storedId, reason)
  }
  metrics.webhook(event.name, door.decision)
  // Who we are may change what it means: until that is known it waits to be found.
  if (door.waits && account.hasAsked()) processor.take(entry, factsOf(event), routes)
  return { inboxId: entry.id, decision: door.decision, reason: door.reason, runIds: [] }
}

/** A draft leads to nothing yet; but catch-up looks only at repositories that are known. */
function concernsPullRequests({ name }: EventFacts, types: RunTypes): boolean {
  return name === 'pull_request' && Object.values(types).some(worksOnPullRequests)
}

/** With the runs of the first, also when they are only just being made. */
async function repeatAnswer(
  { store, processor }: IntakeOptions,
  first: InboxEntry,
  inboxId: string,
  reason: string,
): Promise<IntakeAnswer> {
  await processor.decided(first.id, repeatWaitMs)
  const entry = first.state === 'waiting' ? ((await store.inbox.get(first.id)) ?? first) : first
  return { inboxId, decision: 'duplicate', reason, runIds: runIdsOf(entry.outcomes) }
}
