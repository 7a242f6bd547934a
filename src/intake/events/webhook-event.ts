/**
 * Reads a webhook's payload into the facts we use. GitHub's payloads differ by event, by age and by
 * what was deleted since (the sender's account, a fork), so every part may be missing. Routing then
 * decides, and names what is missing.
 */
import { hash } from 'node:crypto'
import type { AskingComment } from '../../domain/outbox/refusal.ts'
import {
  numberAt,
  repoAt,
  shaAt,
  textAt,
  timeAt,
  unusableWords,
  valueAt,
  type Path,
} from './payload.ts'

/** The event name under which catch-up stores what it found without a webhook. */
export const reconcileEvent = 'reconcile'

/** The facts of an event, without its payload. */
export interface EventFacts {
  readonly webhookId: string
  /** GitHub's name of the event, such as `pull_request`. */
  readonly name: string
  /** Catch-up saw the state of the pull request; there was no webhook. */
  readonly reconciled: boolean
  readonly action: string | null
  readonly repo: string | null
  readonly repoId: number | null
  readonly sender: Sender | null
  /** Of the pull request or issue. */
  readonly number: number | null
  readonly isPullRequest: boolean
  /**
   * Null when the payload does not have all of it; then `problem` names the first field that is
   * missing or cannot be used.
   */
  readonly head: PullRequestCommits | null
  readonly problem: string | null
  readonly draft: boolean
  readonly prState: 'open' | 'closed' | null
  readonly baseChanged: boolean
  readonly check: CheckFacts | null
  /** The comment or review that it is about. */
  readonly comment: AskingComment | null
  readonly push: PushFacts | null
  /** When it happened, by GitHub's clock. */
  readonly eventAt: number | null
  /** When its repository certainly had this name: the newest time in the payload. */
  readonly nameAt: number | null
  /** When the pull request or issue was opened. */
  readonly threadCreatedAt: number | null
}

export interface WebhookEvent extends EventFacts {
  readonly payload: unknown
}

export interface Sender {
  readonly login: string
  readonly id: number | null
  readonly type: string | null
}

export interface PullRequestCommits {
  readonly baseSha: string
  readonly headSha: string
  /** What the head replaced. */
  readonly beforeSha: string | null
  /** The last push to any branch of the head's repository. */
  readonly pushedAt: number | null
}

export interface CheckFacts {
  /** GitHub's id of the check run and the id its maker gave it; null for a suite. */
  readonly id: number | null
  readonly externalId: string | null
  readonly headSha: string
  readonly name: string | null
  /** Null when GitHub names none (as for a fork) or several. */
  readonly pr: number | null
}

export interface PushFacts {
  readonly ref: string
  readonly sha: string
}

export function readEvent(webhookId: string, storedEvent: string, payload: unknown): WebhookEvent {
  const reconciled = storedEvent === reconcileEvent
  const name = reconciled ? 'pull_request' : storedEvent
  const repo = repoAt(payload, 'repository', 'full_name')
  const number = numberAt(payload, 'pull_request', 'number') ?? numberAt(payload, 'issue', 'number')
  const hasPullRequest = isObject(valueAt(payload, 'pull_request'))
  const isPullRequest = hasPullRequest || isObject(valueAt(payload, 'issue', 'pull_request'))
  const problem = problemOf(name, payload, repo, hasPullRequest)
  return {
    webhookId,
    name,
    reconciled,
    action: textAt(payload, 'action'),
    repo,
    repoId: numberAt(payload, 'repository', 'id'),
    sender: senderOf(payload),
    number,
    isPullRequest,
    head: hasPullRequest && problem === null ? commitsOf(payload) : null,
    problem,
    draft: valueAt(payload, 'pull_request', 'draft') === true,
    prState: name === 'pull_request' ? stateOf(payload) : null,
    baseChanged: valueAt(payload, 'changes', 'base') !== undefined,
    check: checkOf(payload),
    comment: commentOf(payload),
    push: name === 'push' ? pushOf(payload) : null,
    eventAt: updatedAt(payload),
    // Catch-up uses the name that we already knew, so it proves nothing about the name.
    nameAt: reconciled ? null : newestTime(payload),
    threadCreatedAt:
      timeAt(payload, 'pull_request', 'created_at') ?? timeAt(payload, 'issue', 'created_at'),
    payload,
  }
}

/** Two webhooks with equal keys are one event; null when the payload is not enough to tell. */
export function eventKeyOf(event: WebhookEvent): string | null {
  const { action, repo, number, payload, head } = event
  const changedAt = updatedAt(payload)
  if (repo === null || number === null || changedAt === null) return null
  const details = [
    textAt(payload, 'label', 'name'),
    textAt(payload, 'assignee', 'login'),
    textAt(payload, 'requested_reviewer', 'login'),
    textAt(payload, 'requested_team', 'slug'),
    numberAt(payload, 'milestone', 'id'),
    numberAt(payload, 'comment', 'id'),
    textAt(payload, 'comment', 'updated_at'),
    numberAt(payload, 'review', 'id'),
    numberAt(payload, 'thread', 'id'),
    valueAt(payload, 'changes') ?? null,
    head,
  ]
  const parts = JSON.stringify([storedName(event), action, changedAt, ...details])
  // The key begins with the lane, so the index is written in one place for each lane.
  return `${laneOf(event)} ${hash('sha256', parts, 'base64url')}`
}

/** The event name to store; `readEvent` reads the same event from it. */
export function storedName({ name, reconciled }: EventFacts): string {
  return reconciled ? reconcileEvent : name
}

/** Payloads are large, so an event that waits for its turn is kept without one. */
export function factsOf({ payload: _payload, ...facts }: WebhookEvent): EventFacts {
  return facts
}

const headActions = new Set(['opened', 'reopened', 'synchronize', 'edited', 'ready_for_review'])

/** Whether the event may bring a new head or base. */
export function namesNewHead({ name, action }: Pick<EventFacts, 'name' | 'action'>): boolean {
  return name === 'pull_request' && action !== null && headActions.has(action)
}

/** Whether this event made its head the current one. (A new title does not.) */
export function makesHead(event: EventFacts): boolean {
  return namesNewHead(event) && (event.action !== 'edited' || event.baseChanged)
}

/** Events of one lane are processed in order. An event about nothing we know has its own lane. */
export function laneOf({ repo, repoId, number, check, push, webhookId }: EventFacts): string {
  if (repo === null) return webhookId
  const place = repoId ?? repo
  if (number !== null) return threadLane(place, number)
  if (push !== null) return `${place} ${push.ref}`
  if (check !== null) return `${place}@${check.headSha}`
  return webhookId
}

/** The lane of a pull request or issue. It uses the repository's id, which no rename changes. */
export const threadLane = (repoId: number | string, number: number): string => `${repoId}#${number}`

function senderOf(payload: unknown): Sender | null {
  const login = textAt(payload, 'sender', 'login')
  // GitHub shows the user `ghost` for a deleted account.
  if (login === null || login === 'ghost') return null
  const id = numberAt(payload, 'sender', 'id')
  return { login, id, type: textAt(payload, 'sender', 'type') }
}

/** Whether a person writes a command in this event, about the commits that the person saw. */
export const isCommand = (name: string): boolean => commandEvents.has(name)

const commandEvents = new Set([
  'issue_comment',
  'pull_request_review',
  'pull_request_review_comment',
])

/** The first field that is needed and cannot be used, and why. */
function problemOf(
  name: string,
  payload: unknown,
  repo: string | null,
  hasPr: boolean,
): string | null {
  const because = (...path: Path): string => unusableWords(payload, ...path)
  if (repo === null) return because('repository', 'full_name')
  if (name === 'push' && textAt(payload, 'ref') === null) return because('ref')
  if (name === 'push' && shaAt(payload, 'after') === null) return because('after')
  const isOnPull = hasPr || isObject(valueAt(payload, 'issue', 'pull_request'))
  if (isOnPull && isCommand(name) && commentOf(payload) === null) {
    return 'comment.created_at is missing'
  }
  if (!hasPr) return null
  const number = ['pull_request', 'number']
  if (numberAt(payload, ...number) === null) return because(...number)
  for (const part of ['head', 'base']) {
    const sha = ['pull_request', part, 'sha']
    if (shaAt(payload, ...sha) === null) return because(...sha)
  }
  return null
}

function commitsOf(payload: unknown): PullRequestCommits | null {
  const baseSha = shaAt(payload, 'pull_request', 'base', 'sha')
  const headSha = shaAt(payload, 'pull_request', 'head', 'sha')
  if (baseSha === null || headSha === null) return null
  const pushedAt = timeAt(payload, 'pull_request', 'head', 'repo', 'pushed_at')
  return { baseSha, headSha, beforeSha: shaAt(payload, 'before'), pushedAt }
}

function stateOf(payload: unknown): 'open' | 'closed' | null {
  const state = textAt(payload, 'pull_request', 'state')
  return state === 'open' || state === 'closed' ? state : null
}

function checkOf(payload: unknown): CheckFacts | null {
  for (const part of ['check_run', 'check_suite']) {
    const headSha = shaAt(payload, part, 'head_sha')
    if (headSha === null) continue
    return {
      id: numberAt(payload, 'check_run', 'id'),
      externalId: textAt(payload, 'check_run', 'external_id'),
      headSha,
      name: textAt(payload, part, 'name'),
      pr: onlyPullRequest(valueAt(payload, part, 'pull_requests')),
    }
  }
  return null
}

/** Uses the time of writing, not of an edit: an edit must not allow a newer head. */
function commentOf(payload: unknown): AskingComment | null {
  for (const part of ['comment', 'review']) {
    const id = numberAt(payload, part, 'id')
    const writtenAt = timeAt(payload, part, 'created_at') ?? timeAt(payload, part, 'submitted_at')
    if (id === null || writtenAt === null) continue
    return { id, writtenAt, author: textAt(payload, part, 'user', 'login') ?? 'ghost' }
  }
  return null
}

function onlyPullRequest(listed: unknown): number | null {
  return Array.isArray(listed) && listed.length === 1 ? numberAt(listed[0], 'number') : null
}

/** Null for a deleted branch: it has no commit to work on. */
function pushOf(payload: unknown): PushFacts | null {
  const ref = textAt(payload, 'ref')
  const sha = shaAt(payload, 'after')
  return ref === null || sha === null || /^0+$/.test(sha) ? null : { ref, sha }
}

function updatedAt(payload: unknown): number | null {
  return timeAt(payload, 'pull_request', 'updated_at') ?? timeAt(payload, 'issue', 'updated_at')
}

function newestTime(payload: unknown): number | null {
  const pushedAt = numberAt(payload, 'repository', 'pushed_at')
  const times = [
    updatedAt(payload),
    timeAt(payload, 'repository', 'updated_at'),
    // In a push event this is a number of seconds.
    pushedAt === null ? timeAt(payload, 'repository', 'pushed_at') : pushedAt * 1000,
  ].filter((at) => at !== null)
  return times.length === 0 ? null : Math.max(...times)
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
