/** The current state of a run, a webhook or a pull request, in one or two sentences. */
import type { AuditRow } from '../../domain/audit.ts'
import type { InboxEntry, TypeOutcome } from '../../domain/inbox.ts'
import type { Run } from '../../domain/run.ts'
import { isActive } from '../../domain/run.ts'
import { sentence } from '../../texts/sentences.ts'
import { becauseWords, eventOfEntry, eventWords } from './webhook-words.ts'
import type { Facts, SubjectFacts } from './facts.ts'
import { decisiveWebhook } from './facts.ts'
import {
  actorWords,
  atStart,
  agoWords,
  fullRunWords,
  keyWords,
  numberOf,
  cleanText,
  quoted,
  runWords,
  shortSha,
  textOf,
  timeWords,
  typeWords,
  workerWords,
} from './names.ts'
import {
  claimDefaults,
  claimWords,
  failureOf,
  firstLine,
  isClaimReason,
  ruleWords,
  startingReasons,
  verdictWords,
} from './row-words.ts'
import { shownWords } from './delivery-state.ts'
import { heldStepWords } from './held-step-words.ts'

export function threadHeadline(facts: Facts, thread: string): string {
  const undecided = facts.webhooks.filter(({ state }) => state === 'waiting')
  const parts = facts.subjects.flatMap((one) => subjectState(one, facts))
  const showing = shownWords(facts)
  const last = decisiveWebhook(facts)
  if (parts.length === 0) {
    if (last === null) return unknownWords(facts, thread)
    if (undecided.length === 0) parts.push(`No run was started for ${thread}`)
  }
  const isOpen = undecided.length > 0 || last?.state === 'failed'
  if (last !== null && (isOpen || facts.subjects.length === 0)) {
    parts.push(webhookWords(undecided[0] ?? last, facts))
  }
  const isAtWork = facts.runs.some(isActive)
  const open = facts.webhooks.find(({ prState }) => prState !== null)?.prState
  const isMentioned = facts.runs.some(({ errorCode }) => errorCode === 'pull_request_closed')
  if (open === 'closed' && !isAtWork && !isMentioned) parts.push('The pull request is closed')
  return [...parts, ...showing].map(sentence).join(' ')
}

function unknownWords({ refusals, now }: Facts, thread: string): string {
  const nothing =
    `Nothing is known about ${thread}: no webhook about it was accepted in the time that ` +
    'webhooks are kept (7 days by default), and nobody claimed it.'
  const [newest] = refusals
  if (newest === undefined) return nothing
  const count = refusals.reduce((sum, row) => sum + (numberOf(row, 'count') ?? 1), 0)
  const last = `the last before ${timeWords(newest.at, now)}`
  const were = count === 1 ? 'webhook was' : 'webhooks were'
  return (
    `${nothing} But ${count} ${were} refused because of a wrong signature, ${last}. ` +
    'It may be among them.'
  )
}

/** One clause for the current run, and one for the run that is worked on instead. */
function subjectState(one: SubjectFacts, facts: Facts): string[] {
  const { subject, run, ahead } = one
  const clauses: string[] = []
  if (run !== null) clauses.push(runState(one, facts))
  else if (subject?.currentRunId != null) {
    const head = subject.headSha === null ? '' : ` at ${shortSha(subject.headSha)}`
    const ended = facts.rows.find(
      ({ type, runId }) => type === 'run.purged' && runId === subject.currentRunId,
    )
    const state = ended === undefined ? null : textOf(ended, 'state')
    const was = state === null ? '' : `; it was ${state}`
    clauses.push(`${typeWords(subject)}${head} was removed, because it is past its retention${was}`)
  }
  const isCovered = ahead === null || ahead.id === run?.id || isQueued(run)
  return isCovered ? clauses : [...clauses, runState({ subject, run: ahead, ahead }, facts)]
}

const isQueued = (run: Run | null): boolean => run?.state === 'pending' && run.availableAt === null

/** Without the full stop. */
export function runState({ run, ahead }: SubjectFacts, facts: Facts): string {
  const { now, rows, tokenNames } = facts
  if (run === null) return 'The run was removed'
  const name = fullRunWords(run)
  const own = rows.filter(({ runId }) => runId === run.id)
  const at = (time: number | null): string => (time === null ? '' : ` at ${timeWords(time, now)}`)
  switch (run.state) {
    case 'pending':
      return `${name} is ${isQueued(run) ? queueWords(run, ahead) : pendingWords(run, own, now)}`
    case 'running':
      return `${name} ${heldWords(run, facts)}`
    case 'waiting': {
      const held = facts.heldSteps.get(run.id)
      return held === undefined
        ? `${name} is waiting for a person's answer`
        : `${name} ${heldStepWords(run, held, facts)}`
    }
    case 'succeeded': {
      return `${name} finished${at(run.finishedAt)}${verdictWords(run.verdict)}${roundWords(run)}`
    }
    case 'failed':
      return `${name} failed${at(run.finishedAt)}: ${failureOf(run)}`
    case 'cancelled':
      return `${name} was cancelled${at(run.finishedAt)}${cancelWords(run, own, tokenNames)}`
    case 'skipped':
      return `${name} was skipped${at(run.finishedAt)}${skipWords(run)}`
    case 'superseded': {
      const by = run.supersededBy === null ? 'a newer one' : keyWords(run.supersededBy)
      return `${name} was superseded by ${by}${at(run.finishedAt)}`
    }
  }
}

const roundWords = ({ round }: Run): string => (round > 1 ? ` in round ${round}` : '')

function queueWords(run: Run, ahead: Run | null): string {
  if (ahead === null || ahead.id === run.id) return 'waiting in line'
  return `waiting in line behind ${runWords(ahead)} (${ahead.id}), which is ${ahead.state}`
}

function pendingWords(run: Run, rows: readonly AuditRow[], now: number): string {
  const since = run.availableAt === null ? '' : ` since ${timeWords(run.availableAt, now)}`
  const round = run.round > 1 ? `, in round ${run.round}` : ''
  return `waiting for a worker${since}${round}; ${beforeWords(run, rows)}`
}

/** What is known about earlier workers of this round. */
function beforeWords(run: Run, rows: readonly AuditRow[]): string {
  const lost = run.attempt - 1
  if (lost > 0) return `attempt ${run.attempt} of ${run.attemptsMax}, after ${lost} lost`
  const isThisRound = (row: AuditRow): boolean => (numberOf(row, 'round') ?? 1) === run.round
  const released = rows.findLast((row) => row.type === 'run.released' && isThisRound(row))
  if (released === undefined) return 'no worker took it yet'
  return `${workerWords(textOf(released, 'worker'))} gave it back`
}

function heldWords(run: Run, facts: Facts): string {
  const { now } = facts
  const since = run.startedAt === null ? '' : ` since ${timeWords(run.startedAt, now)}`
  const tries = run.attempt > 1 ? ` (attempt ${run.attempt} of ${run.attemptsMax})` : ''
  const round = run.round > 1 ? `, in round ${run.round}` : ''
  const held = `is being worked on by ${holderWords(run, facts)}${since}${round}${tries}`
  const expiredMs = run.leaseExpiresAt === null ? -1 : now - run.leaseExpiresAt
  if (expiredMs < 0) return held
  return `${held}, but its lease ended ${agoWords(expiredMs)} without a heartbeat`
}

/** The name of the worker, or of the caller that claimed it. */
export function holderWords({ worker, fence }: Run, { rows, tokenNames }: Facts): string {
  const claim = rows.find(({ id }) => id === fence)
  if (worker !== null || claim === undefined) return workerWords(worker)
  return actorWords(claim.actor, tokenNames)
}

function cancelWords(run: Run, rows: readonly AuditRow[], tokenNames: Facts['tokenNames']): string {
  if (run.errorText !== null) return `, because ${cleanText(run.errorText)}`
  const row = rows.findLast(({ type }) => type === 'run.cancelled')
  return row === undefined ? '' : ` by ${actorWords(row.actor, tokenNames)}`
}

function skipWords({ errorCode, errorText, description, summary }: Run): string {
  if (errorCode === 'stale-event') return ', because a newer commit was known'
  if (errorCode === 'head-newer-than-comment') {
    return ', because its commit may be newer than the comment'
  }
  if (errorCode === 'busy') return ', because another run was active'
  if (errorCode === 'skipped' && errorText !== null) {
    return `, because ${ruleWords(errorText)}`
  }
  const text = errorText ?? description ?? firstLine(summary)
  return text === null ? ' by its worker' : ` by its worker: ${quoted(text)}`
}

/** Without the full stop. */
export function webhookWords(entry: InboxEntry, { now, runs }: Facts): string {
  const happened = eventWords(eventOfEntry(entry))
  const when = `${happened} at ${timeWords(entry.receivedAt, now)}`
  if (entry.state === 'waiting') {
    const why = entry.lastError === null ? '' : `: ${cleanText(entry.lastError)}`
    return `${when}. Holdfast has not decided on it yet${why}`
  }
  if (entry.decision === 'duplicate') {
    return `${when}. The same event had come before; nothing was done twice`
  }
  const decisive = entry.outcomes.find(({ result }) => result === 'failed') ?? entry.outcomes[0]
  if (entry.state === 'failed') {
    const why =
      decisive === undefined ? '' : ` for ${typeWords(decisive)}, because ${becauseWords(decisive)}`
    return `${when}. It could not be decided${why}`
  }
  if (entry.decision === 'ignored') {
    const reason = decisive ?? {
      reason: entry.reason ?? 'refused',
      result: null,
      event: entry.event,
    }
    return `${when}. Nothing was started, because ${becauseWords(reason)}`
  }
  const led = entry.outcomes.flatMap((outcome) => ledTo(outcome, runs))
  return `${when}. ${led.length === 0 ? 'Nothing had to be done' : atStart(led.join('; '))}`
}

/** What the webhook led to for one run type, with the run's current state. */
function ledTo(outcome: TypeOutcome, runs: readonly Run[]): string[] {
  const { result, reason, runIds, type } = outcome
  const names = runIds.map((id) => {
    const run = runs.find((one) => one.id === id)
    return run === undefined ? `${id}, which was removed` : `${runWords(run)} (now ${run.state})`
  })
  const named = names.length === 0 ? cleanText(type) : names.join(', ')
  if (result === 'cancelled') return [`it cancelled ${named}`]
  if (result !== 'claimed') return []
  if (!isClaimReason(reason) || startingReasons.has(reason)) return [`it started ${named}`]
  return [claimWords[reason]({ ...claimDefaults, what: named, key: named })]
}
