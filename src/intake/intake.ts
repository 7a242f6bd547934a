/**
 * Receives webhooks behind HTTP: verify, decide what can be decided at once, store, answer. GitHub
 * is answered only after the commit. A refused webhook leaves nothing in the store.
 */
import type { Metrics } from '../metrics.ts'
import { runIdsOf, type InboxDecision, type InboxEntry } from '../domain/inbox.ts'
import type { IdempotencyKey, Store } from '../store.ts'
import { decideAtArrival } from './decide-at-arrival.ts'
import { learnRepository } from './acts.ts'
import type { OwnAccountWatch } from './asking/own-account-watch.ts'
import { packBody, parsePayload } from './events/payload.ts'
import type { Processor } from './processor.ts'
import { routeEvent, worksOnPullRequests, type RunTypes } from './events/route-event.ts'
import { isSignedBy } from './events/signature.ts'
import {
  eventKeyOf,
  factsOf,
  laneOf,
  makesHead,
  readEvent,
  storedName,
  type EventFacts,
} from './events/webhook-event.ts'

/** How long a repeated webhook waits for the runs of the first one, if that is being processed. */
const repeatWaitMs = 1000

export interface IncomingWebhook {
  readonly webhookId: string
  readonly event: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The webhook never arrived; catch-up found it. */
  readonly caughtUp?: boolean
  /** The HTTP status that GitHub got when it sent this; 0 when it got no answer. */
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
  /** For a webhook with a valid signature, or one that was read from GitHub's record. */
  receive(webhook: IncomingWebhook): Promise<IntakeAnswer>
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
    receive: (webhook) => receive(options, webhook),
    async replay(entryId, actor, idempotencyKey) {
      const entry = await store.inbox.replay(entryId, actor, idempotencyKey ?? null)
      void processor.kick()
      return entry
    },
  }
}

async function receive(options: IntakeOptions, webhook: IncomingWebhook): Promise<IntakeAnswer> {
  const { store, processor, types, account, metrics } = options
  const { webhookId, headers, body } = webhook
  const event = readEvent(webhookId, webhook.event, parsePayload(body))
  // Before the routes: a rule of the configuration gets the payload and might change it.
  const eventKey = eventKeyOf(event)
  const routes = routeEvent(event, types, account.current())
  const atArrival = decideAtArrival(event, routes)
  // Before it is stored: an event that does not wait is not processed later.
  if (!atArrival.waits && concernsPullRequests(event, types)) await learnRepository(store, event)
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
    ...atArrival,
    caughtUp: webhook.caughtUp ?? false,
    answered: webhook.answered ?? null,
    body: { headers: JSON.stringify(headers), body: packBody(body) },
  })
  const { entry, arrived, storedId } = received
  if (arrived !== 'new') {
    metrics.webhook(event.name, 'duplicate')
    const reason = arrived === 'again' ? 'same-delivery' : arrived
    return await repeatAnswer(options, entry, storedId, reason)
  }
  metrics.webhook(event.name, atArrival.decision)
  // Our own account decides what an event means. Until it is known, the event waits in the store.
  if (atArrival.waits && account.hasAsked()) processor.take(entry, factsOf(event), routes)
  return { inboxId: entry.id, decision: atArrival.decision, reason: atArrival.reason, runIds: [] }
}

/** A draft leads to nothing yet, but catch-up checks only repositories that it knows. */
function concernsPullRequests({ name }: EventFacts, types: RunTypes): boolean {
  return name === 'pull_request' && Object.values(types).some(worksOnPullRequests)
}

/** Answers with the runs of the first webhook; waits a moment if they are being made. */
async function repeatAnswer(
  { store, processor }: IntakeOptions,
  first: InboxEntry,
  inboxId: string,
  reason: string,
): Promise<IntakeAnswer> {
  await processor.waitUntilDecided(first.id, repeatWaitMs)
  const entry = first.state === 'waiting' ? ((await store.inbox.get(first.id)) ?? first) : first
  return { inboxId, decision: 'duplicate', reason, runIds: runIdsOf(entry.outcomes) }
}
