/**
 * Why a webhook led to nothing, for every reason the intake gives, and what a person can do about
 * it. A reason that is none of ours is what a run type's own rule said.
 */
import type { TypeOutcome } from '../../domain/inbox.ts'
import { outside, quoted } from './plain-words.ts'

interface IntakeReason {
  /** Follows "because". */
  readonly because: string
  /** What would change it; none where all is as it should be. */
  readonly remedy?: string
  /** Whether deciding the same webhook again could then come out otherwise. */
  readonly replay?: true
  readonly doctor?: true
}

export const intakeReasons: Readonly<Record<string, IntakeReason>> = {
  'no-trigger': {
    because: 'no run type listens to this event',
    remedy: 'If it should count: name it under "on" or "rerunOn" of a run type and restart',
    replay: true,
  },
  ping: { because: 'it only tests the connection' },
  draft: {
    because: 'the pull request is a draft',
    remedy: 'Mark the pull request ready for review on GitHub',
  },
  'own-account': {
    because: 'our own account did it',
    remedy: 'If it should count: set "own: true" on the run type and restart',
    replay: true,
  },
  'incomplete-payload': { because: 'a part of what GitHub sent is missing', doctor: true },
  'pull-request-closed': {
    because: 'the pull request is closed',
    remedy: 'Reopen the pull request on GitHub',
  },
  'base-unchanged': { because: 'its base did not change' },
  'branch-deleted': { because: 'the branch was deleted' },
  'no-pull-request': { because: 'it is not about a pull request' },
  'head-unknown': {
    because: 'nobody could tell which commit it is about',
    remedy: 'Give Holdfast credentials for GitHub, or push a commit',
    replay: true,
    doctor: true,
  },
  'head-newer-than-comment': {
    because: 'the commit may have been pushed after the comment was written',
    remedy: 'Check the commit, then write the comment again',
  },
  'head-known': { because: 'this commit has its run already' },
  'closed-since': {
    because: 'the pull request was closed since',
    remedy: 'Reopen the pull request on GitHub',
  },
  'head-changed-since': {
    because: 'other commits were pushed since, which it says nothing about',
    remedy: 'Check the new commits, then do it again',
  },
  'reopened-since': { because: 'the pull request was reopened since' },
  'nothing-to-cancel': { because: 'nothing was waiting or worked on' },
  'sender-is-bot': {
    because: 'a bot has no role, and this run type asks for one',
    remedy: 'Let a person with the role do it',
  },
  'sender-unknown': {
    because: 'its sender is no account that GitHub knows',
    remedy: 'Let a person with the role do it',
  },
  'sender-not-member': {
    because: 'its sender is no member of the repository',
    remedy: 'Give the sender a role in the repository on GitHub',
    replay: true,
  },
  'sender-role': {
    because: "its sender's role is too low for this run type",
    remedy: 'Give the sender the role on GitHub that "by" of the run type names',
    replay: true,
  },
  'role-unknown': {
    because: "its sender's role could not be found out",
    remedy: 'Let our credentials on GitHub see roles',
    replay: true,
    doctor: true,
  },
  'github-unavailable': {
    because: 'GitHub could not be asked for a whole day',
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
    because: 'other transactions in the database stood in its way for a whole day',
    remedy: 'Look for a transaction that was left open in the database',
    replay: true,
    doctor: true,
  },
  'internal-error': {
    because: 'of a fault in Holdfast, which the log has',
    remedy: 'Report the fault with what the log says of it',
    replay: true,
  },
  'when-failed': {
    because: "the run type's own rule (when) broke on it",
    remedy: 'Fix "when" of the run type and restart',
    replay: true,
  },
  'same-event': { because: 'the same event had come before' },
  filtered: {
    because: "the run type's own rule (when) said no",
    remedy: 'If it should count: change "when" of the run type and restart',
    replay: true,
  },
  'not-current': {
    because: 'it is about another head than the current one',
    remedy: 'Push a commit, or ask for the current head',
  },
  'key-conflict': { because: 'its key belongs to another subject' },
  refused: { because: 'the claim was refused' },
}

/** Of what a run type made of an event, or of an event that none listens to. */
export type Told = Pick<TypeOutcome, 'reason' | 'detail'> & { readonly result: string | null }

export function reasonOf({ result, reason }: Told): IntakeReason {
  // What a rule says in its own words may read like a reason of ours.
  const isOwn =
    Object.hasOwn(intakeReasons, reason) && (result !== 'skipped' || reason === 'filtered')
  const own = isOwn ? intakeReasons[reason] : undefined
  if (own !== undefined) return own
  if (/^repository-[a-z_]+$/.test(reason)) {
    return { because: 'it tells of the repository, not of a pull request' }
  }
  return {
    because: `the run type's own rule (when) said ${quoted(reason)}`,
    remedy: 'If it should count: change what the rule objects to, or "when" of the run type',
    replay: true,
  }
}

/** With what is known beyond the reason: `… (mona has the role read; write is needed)`. */
export function becauseWords(told: Told): string {
  const { because } = reasonOf(told)
  return told.detail === undefined ? because : `${because} (${outside(told.detail)})`
}
