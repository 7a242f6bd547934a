/**
 * Turns the state of a pull request on GitHub into the events that must have been missed. Two
 * processes that see the same state make the same event, with the same GUID.
 */
import type { Subject } from '../../domain/subject.ts'
import type { ListedPull, RepositoryRef } from '../../github.ts'
import type { IncomingWebhook } from '../intake.ts'
import { textAt, valueAt } from '../events/payload.ts'
import { readEvent, reconcileEvent, type WebhookEvent } from '../events/webhook-event.ts'

/** What the webhooks in the inbox said about a pull request. */
export interface ReceivedState {
  /** The last event about it, of any kind; null when there is none. */
  readonly last: WebhookEvent | null
  /** The newest head that an event made. (A label event names a head but does not make it.) */
  readonly headSha: string | null
  /** Its base branch at that time; null when unknown. */
  readonly baseRef: string | null
  /** Whether its `opened` or `reopened` event arrived; null when unknown. */
  readonly isOpen: boolean | null
  /** Whether it was a draft by the last event that can change that. */
  readonly wasDraft: boolean
}

/** An event that must have happened although no webhook arrived. */
export interface MissedEvent {
  readonly action: 'opened' | 'reopened' | 'ready_for_review' | 'synchronize' | 'edited' | 'closed'
  /** Its base branch before; null when that did not change. */
  readonly baseWas: string | null
}

/** The events that an open pull request shows and that never arrived. */
export function missedEventsOf(
  pull: ListedPull,
  received: ReceivedState,
  subjects: readonly Pick<Subject, 'currentEnded'>[],
): readonly MissedEvent[] {
  const baseWas = baseBefore(received, pull)
  const wasClosed = subjects.some(({ currentEnded }) => currentEnded === 'closed')
  const actions: MissedEvent['action'][] = []
  if (received.isOpen === null ? wasClosed : !received.isOpen) actions.push('reopened')
  if (received.wasDraft && !isDraft(pull)) actions.push('ready_for_review')
  if (received.headSha !== pull.headSha) actions.push(...headActions(received, subjects.length > 0))
  if (baseWas !== null) actions.push('edited')
  return actions.map((action) => ({ action, baseWas }))
}

/** If no event about a head arrived, the pull request was opened with this head or pushed to. */
function headActions(
  { last, headSha }: ReceivedState,
  isKnown: boolean,
): readonly MissedEvent['action'][] {
  if (headSha !== null || isKnown) return ['synchronize']
  return last === null ? ['opened'] : ['opened', 'synchronize']
}

/** Compares branch names: the commit of a base changes with every push to it. */
function baseBefore({ baseRef }: ReceivedState, { whole }: ListedPull): string | null {
  const now = textAt(whole, 'base', 'ref')
  return now === null || baseRef === now ? null : baseRef
}

export const baseRefOf = (payload: unknown): string | null =>
  textAt(payload, 'pull_request', 'base', 'ref')

export function missedWebhook(
  place: RepositoryRef,
  pull: ListedPull,
  missed: MissedEvent,
): IncomingWebhook {
  const { number, state, headSha, updatedAt } = pull
  const where = `${place.repoGithubId ?? place.repo}#${number}`
  // GitHub's times are whole seconds, so the id also contains all that may change within a second.
  const base = missed.baseWas === null ? '' : `:${textAt(pull.whole, 'base', 'ref') ?? ''}`
  const how = `${isDraft(pull) ? 'draft' : 'ready'}:${missed.action}${base}`
  return {
    webhookId: `seen:${where}:${updatedAt}:${state}:${headSha}:${how}`,
    event: reconcileEvent,
    headers: {},
    body: Buffer.from(JSON.stringify(payloadOf(place, pull, missed))),
    caughtUp: true,
  }
}

export function readMissedEvent(
  place: RepositoryRef,
  pull: ListedPull,
  missed: MissedEvent,
): WebhookEvent {
  return readEvent('', reconcileEvent, payloadOf(place, pull, missed))
}

/** GitHub does not show who did it, so the author of the pull request counts as the sender. */
function payloadOf(
  { repo, repoGithubId }: RepositoryRef,
  pull: ListedPull,
  { action, baseWas }: MissedEvent,
) {
  const { number, whole } = pull
  const fullName = textAt(whole, 'base', 'repo', 'full_name') ?? repo
  const repository = valueAt(whole, 'base', 'repo') ?? { id: repoGithubId, full_name: fullName }
  const changes = baseWas !== null && { changes: { base: { ref: { from: baseWas } } } }
  const sender = whole['user'] ?? null
  return { action, number, pull_request: whole, repository, sender, ...changes }
}

const isDraft = ({ whole }: ListedPull): boolean => whole['draft'] === true
