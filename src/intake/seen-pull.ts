/**
 * A pull request that we saw on GitHub, told as the event that would have told of it. Two processes
 * that see the same make the same event of it, under the same GUID.
 */
import type { Subject } from '../domain/subject.ts'
import type { ListedPull, RepositoryRef } from '../github.ts'
import type { Delivery } from './intake.ts'
import { textAt, valueAt } from './payload.ts'
import { readEvent, reconcileEvent, type WebhookEvent } from './webhook-event.ts'

/** What was heard of a pull request, as far as the inbox remembers. */
export interface Heard {
  /** The last event about it, whatever it told; null when there is none. */
  readonly last: WebhookEvent | null
  /** The head that the last event to make one made: a label tells of a head, and makes none. */
  readonly headSha: string | null
}

/** Whether what was heard told all that is to be seen now. */
export function isSameAs({ last, headSha }: Heard, pull: ListedPull): boolean {
  if (last === null || headSha !== pull.headSha) return false
  return last.draft === isDraft(pull) && (last.prState ?? pull.state) === pull.state
}

/** What must have happened since. */
export function actionFor(
  pull: ListedPull,
  { last, headSha }: Heard,
  subjects: readonly Pick<Subject, 'currentEnded'>[],
): 'opened' | 'reopened' | 'ready_for_review' | 'synchronize' {
  const wasClosed = subjects.some(({ currentEnded }) => currentEnded === 'closed')
  if (last === null ? wasClosed : last.prState === 'closed') return 'reopened'
  const isReady = last?.draft === true && !isDraft(pull)
  if (isReady && headSha === pull.headSha) return 'ready_for_review'
  return subjects.length > 0 || last !== null ? 'synchronize' : 'opened'
}

export function seenWebhook(place: RepositoryRef, pull: ListedPull, action: string): Delivery {
  const { number, state, headSha, updatedAt } = pull
  const where = `${place.repoGithubId ?? place.repo}#${number}`
  // GitHub's time has whole seconds: all else that may differ within one is named as well.
  const how = `${isDraft(pull) ? 'draft' : 'ready'}:${action}`
  return {
    webhookId: `seen:${where}:${updatedAt}:${state}:${headSha}:${how}`,
    event: reconcileEvent,
    headers: {},
    body: Buffer.from(JSON.stringify(payloadOf(place, pull, action))),
    caughtUp: true,
  }
}

export function readPull(place: RepositoryRef, pull: ListedPull, action: string): WebhookEvent {
  return readEvent('', reconcileEvent, payloadOf(place, pull, action))
}

/** Who did it is not to be seen; whose pull request it is, is. */
function payloadOf({ repo, repoGithubId }: RepositoryRef, pull: ListedPull, action: string) {
  const { number, whole } = pull
  const fullName = textAt(whole, 'base', 'repo', 'full_name') ?? repo
  const repository = valueAt(whole, 'base', 'repo') ?? { id: repoGithubId, full_name: fullName }
  return { action, number, pull_request: whole, repository, sender: whole['user'] ?? null }
}

const isDraft = ({ whole }: ListedPull): boolean => whole['draft'] === true
