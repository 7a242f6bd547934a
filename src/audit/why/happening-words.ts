/** What happened on GitHub, as a person would say it who saw it happen. */
import type { AuditRow } from '../../domain/audit.ts'
import type { InboxEntry } from '../../domain/inbox.ts'
import { atStart, outside, senderWords, textOf } from './plain-words.ts'

export interface Happening {
  /** Null where only the action is known. */
  readonly event: string | null
  readonly action: string | null
  readonly sender: string | null
}

const deeds: Readonly<Record<string, string>> = {
  'pull_request opened': 'opened the pull request',
  'pull_request reopened': 'reopened the pull request',
  'pull_request closed': 'closed the pull request',
  'pull_request synchronize': 'pushed (synchronize)',
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

/** What was seen without being told, and so without a doer. */
const sights: Readonly<Record<string, string>> = {
  closed: 'GitHub shows the pull request closed',
  opened: 'GitHub shows a pull request that was not known',
  ready_for_review: 'GitHub shows the pull request ready for review',
  reopened: 'GitHub shows the pull request open again',
  synchronize: 'GitHub shows the pull request with another head',
}

/** `mona pushed (synchronize)` */
export function happeningWords({ event, action, sender }: Happening): string {
  const sight = event === 'reconcile' ? sights[action ?? ''] : undefined
  if (sight !== undefined) return sight
  const deed = deeds[`${event ?? 'pull_request'} ${action ?? ''}`]
  const who = senderWords(sender)
  if (deed !== undefined) return atStart(`${who} ${deed}`)
  const name = [event, action && `(${action})`].filter((part) => part).join(' ')
  return `GitHub told of ${outside(name) || 'something'} by ${who}`
}

export function happeningOf(entry: InboxEntry): Happening {
  return { event: entry.event, action: entry.action, sender: entry.sender }
}

/** From the row that told of its arrival; null for any other row. */
export function happeningOfRow(row: AuditRow): Happening | null {
  const event = textOf(row, 'event')
  if (event === null) return null
  return { event, action: textOf(row, 'action'), sender: textOf(row, 'sender') }
}
