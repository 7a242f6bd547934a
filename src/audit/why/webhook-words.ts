/**
 * Webhooks in words: what happened on GitHub; why it started nothing, for every reason of the
 * intake; and what a person can do about it. Any other reason is the text of a run type's rule.
 */
import type { AuditRow } from '../../domain/audit.ts'
import type { InboxEntry, TypeOutcome } from '../../domain/inbox.ts'
import { startingEvents } from '../../domain/starting-events.ts'
import { atStart, cleanText, quoted, senderWords, textOf, typeWords } from './names.ts'

/** What happened on GitHub, and who did it. */
export interface EventSummary {
  /** Null if only the action is known. */
  readonly event: string | null
  readonly action: string | null
  /** Null for a deleted account, and if GitHub named nobody. */
  readonly sender: string | null
}

const eventTexts: Readonly<Record<string, string>> = {
  'pull_request opened': 'opened the pull request',
  'pull_request reopened': 'reopened the pull request',
  'pull_request closed': 'closed the pull request',
  'pull_request synchronize': 'pushed',
  'pull_request edited': 'edited the pull request',
  'pull_request ready_for_review': 'marked the pull request ready for review',
  'pull_request converted_to_draft': 'turned the pull request into a draft',
  'pull_request review_requested': 'asked for a review',
  'pull_request labeled': 'put a label on the pull request',
  'pull_request unlabeled': 'took a label off the pull request',
  'issue_comment created': 'wrote a comment',
  'issues opened': 'opened the issue',
  'issues labeled': 'put a label on the issue',
  'check_run rerequested': 'asked for the check to run again',
  'check_suite rerequested': 'asked for the checks to run again',
  'push ': 'pushed to a branch',
}

/** What GitHub showed when Holdfast asked, without a webhook. */
const shownWithoutWebhook: Readonly<Record<string, string>> = {
  closed: 'GitHub shows the pull request closed',
  opened: 'GitHub shows a new pull request',
  ready_for_review: 'GitHub shows the pull request ready for review',
  reopened: 'GitHub shows the pull request open again',
  synchronize: 'GitHub shows the pull request with another head',
}

/** `mona pushed` */
export function eventWords({ event, action, sender }: EventSummary): string {
  const found = event === 'reconcile' ? shownWithoutWebhook[action ?? ''] : undefined
  if (found !== undefined) return found
  const text = eventTexts[`${event ?? 'pull_request'} ${action ?? ''}`]
  if (text !== undefined) return atStart(`${senderWords(sender)} ${text}`)
  const name = [event, action && `(${action})`].filter((part) => part).join(' ')
  const by = sender === null ? '' : ` by ${senderWords(sender)}`
  return `GitHub sent ${cleanText(name) || 'an event'}${by}`
}

export function eventOfEntry(entry: InboxEntry): EventSummary {
  return { event: entry.event, action: entry.action, sender: entry.sender }
}

/** From the row about its arrival. Returns null for any other row. */
export function eventOfRow(row: AuditRow): EventSummary | null {
  const event = textOf(row, 'event')
  if (event === null) return null
  return { event, action: textOf(row, 'action'), sender: textOf(row, 'sender') }
}

interface IntakeReason {
  /** Follows "because". */
  readonly because: string
  /** What would change it. Not given if nothing is wrong. */
  readonly remedy?: string
  /** After that, a replay of the same webhook may have another result. */
  readonly replay?: true
  readonly doctor?: true
}

export const intakeReasons: Readonly<Record<string, IntakeReason>> = {
  'no-trigger': {
    because: 'no run type listens to this event',
    remedy: 'If it should start runs: name it under "on" or "rerunOn" of a run type and restart',
    replay: true,
  },
  ping: { because: 'it only tests the connection' },
  draft: {
    because: 'the pull request is a draft',
    remedy: 'Mark the pull request ready for review on GitHub',
  },
  'own-account': {
    because: 'our own account did it',
    remedy: 'If it should start runs: set "own: true" on the run type and restart',
    replay: true,
  },
  'incomplete-payload': {
    because: 'a part of what GitHub sent is missing or cannot be used',
    doctor: true,
  },
  'pull-request-closed': {
    because: 'the pull request is closed',
    remedy: 'Reopen the pull request on GitHub',
  },
  'base-unchanged': { because: 'its base did not change' },
  'branch-deleted': { because: 'the branch was deleted' },
  'no-pull-request': { because: 'it is not about a pull request' },
  'head-unknown': {
    because: 'it is not known which commit it is about',
    remedy: 'Give Holdfast credentials for GitHub, or push a commit',
    replay: true,
    doctor: true,
  },
  'head-newer-than-comment': {
    because: 'the commit may have been pushed after the comment was written',
    remedy: 'Check the commit, then write the comment again',
  },
  'head-known': { because: 'this commit already has a run' },
  'closed-since': {
    because: 'the pull request was closed meanwhile',
    remedy: 'Reopen the pull request on GitHub',
  },
  'head-changed-since': {
    because: 'other commits were pushed meanwhile',
    remedy: 'Check the new commits, then do it again',
  },
  'reopened-since': { because: 'the pull request was reopened meanwhile' },
  'nothing-to-cancel': { because: 'no run was active' },
  'sender-is-bot': {
    because: 'a bot has no role, and this run type needs one',
    remedy: 'Let a person with the role do it',
  },
  'sender-unknown': {
    because: 'GitHub does not know its sender',
    remedy: 'Let a person with the role do it',
  },
  'sender-not-member': {
    because: 'its sender is not a member of the repository',
    remedy: 'Give the sender a role in the repository on GitHub',
    replay: true,
  },
  'sender-role': {
    because: "its sender's role is too low for this run type",
    remedy: 'Give the sender the role on GitHub that "by" of the run type names',
    replay: true,
  },
  'role-unknown': {
    because: "GitHub does not show its sender's role",
    remedy:
      'Allow the App or token to read roles on GitHub. In the sandbox, which knows no roles, ' +
      'remove "by" from the run type',
    replay: true,
    doctor: true,
  },
  'github-unavailable': {
    because: 'GitHub could not be reached for a whole day',
    remedy: 'Wait until GitHub answers',
    replay: true,
    doctor: true,
  },
  'repo-not-visible': {
    because: 'GitHub does not show us the repository',
    remedy: 'Give the token access to the repository, or install the GitHub App on it',
    replay: true,
    doctor: true,
  },
  'store-contended': {
    because: 'other database transactions blocked it for a whole day',
    remedy: 'Look for a transaction that was left open in the database',
    replay: true,
    doctor: true,
  },
  'internal-error': {
    because: 'of an error in Holdfast; see its log',
    remedy: 'Report the error with its lines of the log',
    replay: true,
  },
  'when-failed': {
    because: 'the rule (when) of the run type failed',
    remedy: 'Fix "when" of the run type and restart',
    replay: true,
  },
  'same-event': { because: 'the same event had come before' },
  filtered: {
    because: 'the rule (when) of the run type said no',
    remedy: 'If it should start runs: change "when" of the run type and restart',
    replay: true,
  },
  'not-current': {
    because: 'it is about another commit than the newest one',
    remedy: 'Push a commit, or ask for the newest commit',
  },
  'key-conflict': { because: 'its key belongs to another subject' },
  refused: { because: 'the claim was refused' },
}

const noRuns: IntakeReason = { because: 'this version has no runs for this event' }

/** The reason of one run type, or of an event that no run type listens to. */
export type WebhookReason = Pick<TypeOutcome, 'reason' | 'detail'> & {
  readonly result: string | null
  /** Named in the words, if it is given. */
  readonly type?: string
  readonly event?: string | null
}

export function reasonOf({ result, reason, type, event }: WebhookReason): IntakeReason {
  // The text of a rule may be the same as one of our reasons.
  const isOwn =
    Object.hasOwn(intakeReasons, reason) && (result !== 'skipped' || reason === 'filtered')
  const own = isOwn ? intakeReasons[reason] : undefined
  if (reason === 'no-trigger' && isOwn && !mayStart(event)) return noRuns
  if (own !== undefined) return type === undefined ? own : withType(own, type)
  if (/^repository-[a-z_]+$/.test(reason)) {
    return { because: 'it is about the repository, not about a pull request' }
  }
  const runType = type === undefined ? 'the run type' : runTypeWords(type)
  return {
    because: `the rule (when) of ${runType} said ${quoted(reason)}`,
    remedy: `If it should start runs: change what the rule refuses, or "when" of ${runType}`,
    replay: true,
  }
}

const mayStart = (event: string | null | undefined): boolean =>
  event == null || startingEvents.includes(event)

const runTypeWords = (type: string): string => `the run type ${typeWords({ type })}`

/** Names the run type where the words are about it. */
function withType(reason: IntakeReason, type: string): IntakeReason {
  const name = (text: string): string =>
    text.replace(/\b(the|this) run type\b/, () => runTypeWords(type))
  const { because, remedy } = reason
  return { ...reason, because: name(because), ...(remedy && { remedy: name(remedy) }) }
}

/** With details, if there are any: `… (mona has the role read; write is needed)`. */
export function becauseWords(reason: WebhookReason): string {
  const { because } = reasonOf(reason)
  return reason.detail === undefined ? because : `${because} (${cleanText(reason.detail)})`
}

/** Of a decision, or of an arrival that was ignored immediately. */
export function nothingWords(row: AuditRow): string {
  const reason = textOf(row, 'reason')
  if (reason === null) return 'nothing had to be done'
  const what = row.type === 'webhook.failed' ? 'it could not be decided' : 'nothing was started'
  return `${what}, because ${becauseWords({ reason, result: null, event: textOf(row, 'event') })}`
}

/** With details from the entry, if the entry still has this decision. */
export function outcomesOf(row: AuditRow, entry: InboxEntry | undefined): readonly TypeOutcome[] {
  const stored = row.data['outcomes']
  if (!Array.isArray(stored)) return entry?.processedAt === row.at ? entry.outcomes : []
  return stored.map((one: Readonly<Record<string, unknown>>, i): TypeOutcome => {
    const same = entry?.outcomes[i]
    const type = String(one['type'])
    const reason = String(one['reason'])
    const isSame = same?.type === type && same.reason === reason
    return {
      type,
      reason,
      result: one['result'] as TypeOutcome['result'],
      runIds: Array.isArray(one['run_ids']) ? (one['run_ids'] as string[]) : [],
      ...(isSame && same.detail !== undefined && { detail: same.detail }),
    }
  })
}
