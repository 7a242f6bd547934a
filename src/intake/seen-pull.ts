/**
 * A pull request that we saw on GitHub, told as the event that would have told of it. Two processes
 * that see the same make the same event of it, under the same GUID.
 */
import type { Subject } from '../domain/subject.ts'
import type { ListedPull, RepositoryRef } from '../github.ts'
import type { IncomingWebhook } from './intake.ts'
import { textAt, valueAt } from './payload.ts'
import { readEvent, reconcileEvent, type WebhookEvent } from './webhook-event.ts'

/** What was heard of a pull request, as far as the inbox remembers. */
export interface Heard {
  /** The last event about it, whatever it told; null when there is none. */
  readonly last: WebhookEvent | null
  /** The head that the last event to make one made: a label tells of a head, and makes none. */
  readonly headSha: string | null
  /** The branch it was for then; null where that is not known. */
  readonly baseRef: string | null
  /** Whether what opened it, or opened it again, was heard; null where that is not known. */
  readonly isOpen: boolean | null
  /** Whether it was a draft by the last event that acted on that: a label acts on nothing. */
  readonly wasDraft: boolean
}

/** What must have happened that nobody told. */
export interface Missed {
  readonly action: 'opened' | 'reopened' | 'ready_for_review' | 'synchronize' | 'edited' | 'closed'
  /** The branch it was for before; null where that did not change. */
  readonly baseWas: string | null
}

/** What an open pull request shows that no event told; empty when all of it was told. */
export function missedOf(
  pull: ListedPull,
  heard: Heard,
  subjects: readonly Pick<Subject, 'currentEnded'>[],
): readonly Missed[] {
  const baseWas = baseBefore(heard, pull)
  const wasClosed = subjects.some(({ currentEnded }) => currentEnded === 'closed')
  const actions: Missed['action'][] = []
  if (heard.isOpen === null ? wasClosed : !heard.isOpen) actions.push('reopened')
  if (heard.wasDraft && !isDraft(pull)) actions.push('ready_for_review')
  if (heard.headSha !== pull.headSha) actions.push(...headActions(heard, subjects.length > 0))
  if (baseWas !== null) actions.push('edited')
  return actions.map((action) => ({ action, baseWas }))
}

/** Where nothing tells how it came to this head, it was opened with it, or pushed to. */
function headActions({ last, headSha }: Heard, isKnown: boolean): readonly Missed['action'][] {
  if (headSha !== null || isKnown) return ['synchronize']
  return last === null ? ['opened'] : ['opened', 'synchronize']
}

/** By its name: the commit at its tip moves whenever somebody pushes there. */
function baseBefore({ baseRef }: Heard, { whole }: ListedPull): string | null {
  const now = textAt(whole, 'base', 'ref')
  return now === null || baseRef === now ? null : baseRef
}

export const baseRefOf = (payload: unknown): string | null =>
  textAt(payload, 'pull_request', 'base', 'ref')

export function seenWebhook(
  place: RepositoryRef,
  pull: ListedPull,
  missed: Missed,
): IncomingWebhook {
  const { number, state, headSha, updatedAt } = pull
  const where = `${place.repoGithubId ?? place.repo}#${number}`
  // GitHub's time has whole seconds: all else that may differ within one is named as well.
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

export function readPull(place: RepositoryRef, pull: ListedPull, missed: Missed): WebhookEvent {
  return readEvent('', reconcileEvent, payloadOf(place, pull, missed))
}

/** Who did it is not to be seen; whose pull request it is, is. */
function payloadOf(
  { repo, repoGithubId }: RepositoryRef,
  pull: ListedPull,
  { action, baseWas }: Missed,
) {
  const { number, whole } = pull
  const fullName = textAt(whole, 'base', 'repo', 'full_name') ?? repo
  const repository = valueAt(whole, 'base', 'repo') ?? { id: repoGithubId, full_name: fullName }
  const changes = baseWas !== null && { changes: { base: { ref: { from: baseWas } } } }
  const sender = whole['user'] ?? null
  return { action, number, pull_request: whole, repository, sender, ...changes }
}

const isDraft = ({ whole }: ListedPull): boolean => whole['draft'] === true
