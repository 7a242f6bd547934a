/** How things stand now, in one sentence: of a run, of a webhook, of a pull request. */
import type { AuditRow } from '../../domain/audit.ts'
import type { InboxEntry, TypeOutcome } from '../../domain/inbox.ts'
import type { Run } from '../../domain/run.ts'
import { isActive } from '../../domain/run.ts'
import { sentence } from '../../sentences.ts'
import { claimWords, isClaimReason, startingReasons } from './claim-words.ts'
import { happeningOf, happeningWords } from './happening-words.ts'
import { becauseWords } from './intake-words.ts'
import type { Known, Stand } from './known.ts'
import { lastWord } from './known.ts'
import {
  actorWords,
  agoWords,
  fullRunWords,
  keyWords,
  numberOf,
  outside,
  quoted,
  runWords,
  shortSha,
  textOf,
  timeWords,
  typeWords,
  workerWords,
} from './plain-words.ts'
import { failureWords } from './row-words.ts'
import { showingWords } from './showing.ts'

export function threadHeadline(known: Known, thread: string): string {
  const undecided = known.webhooks.filter(({ state }) => state === 'waiting')
  const parts = known.stands.flatMap((stand) => standWords(stand, known))
  const showing = showingWords(known)
  const last = lastWord(known)
  if (parts.length === 0) {
    if (last === null) return unknownWords(known, thread)
    if (undecided.length === 0) parts.push(`No run was started for ${thread}`)
  }
  const isOpen = undecided.length > 0 || last?.state === 'failed'
  if (last !== null && (isOpen || known.stands.length === 0)) {
    parts.push(webhookWords(undecided[0] ?? last, known))
  }
  const isAtWork = known.runs.some(isActive)
  const open = known.webhooks.find(({ prState }) => prState !== null)?.prState
  const isSaid = known.runs.some(({ errorCode }) => errorCode === 'pull_request_closed')
  if (open === 'closed' && !isAtWork && !isSaid) parts.push('The pull request is closed')
  return [...parts, ...showing].map(sentence).join(' ')
}

function unknownWords({ refusals, now }: Known, thread: string): string {
  const nothing =
    `Nothing is known of ${thread}: no webhook about it was accepted in the time that webhooks ` +
    'are kept (7 days unless set otherwise), and nobody claimed it.'
  const [newest] = refusals
  if (newest === undefined) return nothing
  const count = refusals.reduce((sum, row) => sum + (numberOf(row, 'count') ?? 1), 0)
  const last = `the last before ${timeWords(newest.at, now)}`
  const were = count === 1 ? 'webhook was' : 'webhooks were'
  return (
    `${nothing} But ${count} ${were} refused because the signature was wrong, ${last}: what ` +
    'GitHub sent about it may be among them.'
  )
}

/** One clause for what is current, and one for what is worked on instead. */
function standWords(stand: Stand, known: Known): string[] {
  const { subject, run, ahead } = stand
  const said: string[] = []
  if (run !== null) said.push(runStanding(stand, known))
  else if (subject?.currentRunId != null) {
    const head = subject.headSha === null ? '' : ` at ${shortSha(subject.headSha)}`
    const ended = known.rows.find(
      ({ type, runId }) => type === 'run.purged' && runId === subject.currentRunId,
    )
    const state = ended === undefined ? null : textOf(ended, 'state')
    const was = state === null ? '' : `; it was ${state}`
    said.push(`${typeWords(subject)}${head} is past its retention and was removed${was}`)
  }
  const isTold = ahead === null || ahead.id === run?.id || isQueued(run)
  return isTold ? said : [...said, runStanding({ subject, run: ahead, ahead }, known)]
}

const isQueued = (run: Run | null): boolean => run?.state === 'pending' && run.availableAt === null

/** Without the full stop. The stand must have its run. */
export function runStanding({ run, ahead }: Stand, { now, rows }: Known): string {
  if (run === null) return 'The run was removed'
  const name = fullRunWords(run)
  const own = rows.filter(({ runId }) => runId === run.id)
  const at = (time: number | null): string => (time === null ? '' : ` at ${timeWords(time, now)}`)
  switch (run.state) {
    case 'pending':
      return `${name} is ${isQueued(run) ? queueWords(run, ahead) : pendingWords(run, own, now)}`
    case 'running':
      return `${name} ${heldWords(run, now)}`
    case 'waiting':
      return `${name} is waiting for a person's answer`
    case 'succeeded': {
      const said = run.verdict === null ? '' : ` with the verdict ${run.verdict}`
      return `${name} succeeded${at(run.finishedAt)}${said}${roundWords(run)}`
    }
    case 'failed':
      return `${name} failed${at(run.finishedAt)}: ${failureWords(run.errorCode, run.errorText)}`
    case 'cancelled':
      return `${name} was cancelled${at(run.finishedAt)}${cancelWords(run, own)}`
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

/** What is known of earlier workers in this round. */
function beforeWords(run: Run, rows: readonly AuditRow[]): string {
  const lost = run.attempt - 1
  if (lost > 0) return `attempt ${run.attempt} of ${run.attemptsMax}, after ${lost} lost`
  const isThisRound = (row: AuditRow): boolean => (numberOf(row, 'round') ?? 1) === run.round
  const released = rows.findLast((row) => row.type === 'run.released' && isThisRound(row))
  if (released === undefined) return 'nobody leased it yet'
  return `${workerWords(textOf(released, 'worker'))} gave it back`
}

function heldWords(run: Run, now: number): string {
  const since = run.startedAt === null ? '' : ` since ${timeWords(run.startedAt, now)}`
  const tries = run.attempt > 1 ? ` (attempt ${run.attempt} of ${run.attemptsMax})` : ''
  const round = run.round > 1 ? `, in round ${run.round}` : ''
  const held = `is being worked on by ${workerWords(run.worker)}${since}${round}${tries}`
  const expiredMs = run.leaseExpiresAt === null ? -1 : now - run.leaseExpiresAt
  if (expiredMs < 0) return held
  return `${held}, but its lease ended ${agoWords(expiredMs)} without a heartbeat`
}

function cancelWords(run: Run, rows: readonly AuditRow[]): string {
  if (run.errorText !== null) return `, because ${outside(run.errorText)}`
  const row = rows.findLast(({ type }) => type === 'run.cancelled')
  return row === undefined ? '' : ` by ${actorWords(row.actor)}`
}

function skipWords({ errorCode, errorText }: Run): string {
  if (errorCode === 'stale-event') return ', because a newer head was known already'
  if (errorCode === 'head-newer-than-comment') {
    return ', because its commit may be newer than the comment that asked for it'
  }
  if (errorCode === 'busy') return ', because another run was at work on the same subject'
  if (errorCode === 'skipped' && errorText !== null) {
    return errorText === 'filtered'
      ? ', because its rule (when) said no'
      : `, because its rule (when) said ${quoted(errorText)}`
  }
  return errorText === null ? ' by its holder' : ` by its holder, who said ${quoted(errorText)}`
}

/** Without the full stop. */
export function webhookWords(entry: InboxEntry, { now, runs }: Known): string {
  const happened = happeningWords(happeningOf(entry))
  const when = `${happened} at ${timeWords(entry.receivedAt, now)}`
  if (entry.state === 'waiting') {
    const why = entry.lastError === null ? '' : `: ${outside(entry.lastError)}`
    return `${when}; this is not decided yet${why}`
  }
  if (entry.decision === 'duplicate') {
    return `${when}; the same event had come before, and nothing was done twice`
  }
  const told = entry.outcomes.find(({ result }) => result === 'failed') ?? entry.outcomes[0]
  if (entry.state === 'failed') {
    const why = told === undefined ? '' : ` for ${typeWords(told)}, because ${becauseWords(told)}`
    return `${when}; this could not be decided${why}`
  }
  if (entry.decision === 'ignored') {
    const reason = told ?? { reason: entry.reason ?? 'refused', result: null }
    return `${when}; nothing was started, because ${becauseWords(reason)}`
  }
  const led = entry.outcomes.flatMap((outcome) => ledTo(outcome, runs))
  return `${when}; ${led.length === 0 ? 'nothing had to be done' : led.join('; ')}`
}

/** What it was for one run type, and how that stands by now. */
function ledTo(outcome: TypeOutcome, runs: readonly Run[]): string[] {
  const { result, reason, runIds, type } = outcome
  const names = runIds.map((id) => {
    const run = runs.find((one) => one.id === id)
    return run === undefined ? `${id}, which was removed` : `${runWords(run)} (now ${run.state})`
  })
  const named = names.length === 0 ? outside(type) : names.join(', ')
  if (result === 'cancelled') return [`it cancelled ${named}`]
  if (result !== 'claimed') return []
  if (!isClaimReason(reason) || startingReasons.has(reason)) return [`it led to ${named}`]
  const about = { what: named, key: named, round: 1, attempt: 1, left: null, said: null }
  return [claimWords[reason](about)]
}
