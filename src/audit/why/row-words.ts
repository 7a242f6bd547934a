/**
 * One audit row in words: a clause for each type, without its time and without a full stop. It
 * says what the row says and nothing more; the run and the webhook only lend it their names.
 */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { Run } from '../../domain/run.ts'
import { claimWords, isClaimReason, type ClaimAbout } from './claim-words.ts'
import { deliveryRowWords, type NamedDelivery } from './delivery-words.ts'
import { happeningOfRow, happeningWords } from './happening-words.ts'
import { becauseWords } from './intake-words.ts'
import {
  actorWords,
  atStart,
  keyWords,
  lengthWords,
  numberOf,
  outside,
  quoted,
  runWords,
  shortSha,
  textOf,
  workerWords,
} from './plain-words.ts'

/** The run may be purged; the delivery is only asked for by rows that tell of one. */
type Words = (row: AuditRow, run: Run | null) => string

export function rowWords(
  row: AuditRow,
  run: Run | null,
  delivery: NamedDelivery | null = null,
): string {
  const { type } = row
  return isOfDelivery(type) ? deliveryRowWords[type](row, delivery) : words[type](row, run)
}

const isOfDelivery = (type: AuditType): type is keyof typeof deliveryRowWords =>
  Object.hasOwn(deliveryRowWords, type)

const words: Readonly<Record<Exclude<AuditType, keyof typeof deliveryRowWords>, Words>> = {
  'webhook.received': (row) => `${arrival(row)}; it was stored to be decided`,
  'webhook.duplicate': () => 'GitHub sent this event again; nothing was done twice',
  'webhook.ignored': (row) => `${arrival(row)}: nothing was started, because ${because(row)}`,
  'webhook.processed': (row) => `${arrival(row)}; it was decided`,
  'webhook.failed': (row) => `${arrival(row)}: it could not be decided, because ${because(row)}`,
  'webhook.postponed': (row) =>
    `it could not be decided yet: ${outside(textOf(row, 'why') ?? 'the reason is not known')}`,
  'webhook.caught_up': (row) =>
    `${arrival(row)}, and ${missedWords(row)}; it was fetched from GitHub`,
  'run.claimed': claimed,
  'run.reclaimed': claimed,
  'run.claim_skipped': claimed,
  'run.leased': (row, run) =>
    `${atStart(workerWords(textOf(row, 'worker')))} took ${name(row, run)}${tryOf(row)}`,
  'run.released': (row, run) =>
    `${atStart(workerWords(textOf(row, 'worker')))} gave ${name(row, run)} back, for the next one`,
  'run.dequeued': (row, run) =>
    `${name(row, run)} is next in line and was left for a worker` +
    why(row, 'the run before it ended'),
  'run.heartbeat_lost': (row, run) =>
    textOf(row, 'why') === null
      ? `${atStart(workerWords(textOf(row, 'worker')))} had been silent too long; ` +
        `${name(row, run)} waits for the next one`
      : `${name(row, run)} was put back in line${why(row, null)}`,
  'run.lease_revoked': (row, run) =>
    `${atStart(actorWords(row.actor))} revoked the token that ` +
    `${workerWords(textOf(row, 'worker'))} had taken ${name(row, run)} with`,
  'run.head_unverified': () =>
    'GitHub could not be asked which commit is the head; the order of arrival stands',
  'run.head_verified': (row) =>
    `GitHub was asked and says that ${shortSha(textOf(row, 'head_sha') ?? 'it')} is the head`,
  'run.superseded': (row, run) =>
    `${keyWords(textOf(row, 'by') ?? 'a newer one')} took over, and ` +
    `${name(row, run)} was superseded` +
    why(row, null),
  'run.succeeded': (row, run) => {
    const verdict = textOf(row, 'verdict')
    const said = verdict === null ? '' : ` with the verdict ${outside(verdict, 20)}`
    return `${name(row, run)} succeeded${said}${tryOf(row)}`
  },
  'run.failed': (row, run) => `${name(row, run)} failed${tryOf(row)}: ${failure(row, run)}`,
  'run.cancelled': (row, run) =>
    `${name(row, run)} was cancelled by ${actorWords(row.actor)}${why(row, null)}`,
  'run.skipped': skipped,
  'run.purged': (row, run) =>
    `${name(row, run)} was past its retention and was removed; ` +
    `it was ${outside(textOf(row, 'state') ?? 'ended', 20)}`,
  'run.agent.status_reported': (row, run) => {
    const status = textOf(row, 'status')
    const said = status === null ? 'how it goes' : quoted(status)
    return `${atStart(actorWords(row.actor))} reported of ${name(row, run)}: ${said}`
  },
  'repository.identified': (row) => `GitHub's number for ${repository(row, 'name')} became known`,
  'repository.renamed': (row) =>
    `${repository(row, 'from')} was found under a new name, ${repository(row, 'to')}`,
  'repository.merged': (row) =>
    `two names turned out to be one repository, ${repository(row, 'name')}`,
  'operator.rerun_requested': (row, run) =>
    `${atStart(actorWords(row.actor))} asked for ${name(row, run)} to be done again; ` +
    'that follows when this round has ended',
  'operator.cancel_requested': (row, run) =>
    `${atStart(actorWords(row.actor))} asked for ${name(row, run)} to be cancelled`,
  'operator.replay_requested': (row) =>
    `${atStart(actorWords(row.actor))} asked for this webhook to be decided again`,
  'operator.token_created': (row) => `${atStart(actorWords(row.actor))} made a token`,
  'operator.keys_rotated': (row) => `${atStart(actorWords(row.actor))} added a marker key`,
  'operator.keys_exported': (row) => `${atStart(actorWords(row.actor))} exported the marker keys`,
  'operator.keys_imported': (row) => `${atStart(actorWords(row.actor))} imported marker keys`,
  'operator.token_deleted': (row) => `${atStart(actorWords(row.actor))} revoked a token`,
  'store.restored': () => 'the database was replaced by an older copy of it',
  'access.refused': (row) =>
    `${outside(textOf(row, 'address') ?? 'somebody', 60)} sent ${refusedWords(row)}`,
}

/** Why a webhook was missed, by the answer that GitHub noted. */
function missedWords(row: AuditRow): string {
  const answered = numberOf(row, 'answered')
  if (answered === 401) return 'its webhook was refused here, because its signature was wrong (401)'
  if (answered === null || answered === 0) return 'its webhook did not arrive'
  return `its webhook was not taken in (GitHub was answered ${answered})`
}

function refusedWords(row: AuditRow): string {
  const what =
    textOf(row, 'what') === 'signature' ? 'webhooks with a wrong signature' : 'wrong tokens'
  const count = numberOf(row, 'count')
  return count === null ? what : `${what} (${count === 1 ? 'once' : `${count} times`})`
}

/** `review of 9c1185a` */
export function name(row: AuditRow, run: Run | null): string {
  if (run !== null) return runWords(run)
  const key = textOf(row, 'key')
  if (key !== null) return `the run of ${keyWords(key)}`
  return row.runId === null ? 'the run' : `run ${row.runId}`
}

function arrival(row: AuditRow): string {
  const happening = happeningOfRow(row)
  return happening === null ? 'The webhook was looked at' : happeningWords(happening)
}

function because(row: AuditRow): string {
  const reason = textOf(row, 'reason')
  return reason === null ? 'of a reason that is not known' : becauseWords({ reason, result: null })
}

function claimed(row: AuditRow, run: Run | null): string {
  const reason = textOf(row, 'reason')
  const about = aboutClaim(row, run)
  return isClaimReason(reason) ? claimWords[reason](about) : `${about.what} was decided`
}

function aboutClaim(row: AuditRow, run: Run | null): ClaimAbout {
  const key = textOf(row, 'key') ?? run?.key ?? ''
  const state = row.type === 'run.claim_skipped' ? null : textOf(row, 'state')
  return {
    what: name(row, run),
    key: keyWords(key),
    round: numberOf(row, 'round') ?? 1,
    attempt: numberOf(row, 'attempt') ?? 1,
    left: state === 'pending' || state === 'running' ? state : null,
    said: null,
  }
}

/** By its holder, by the table of the claim, or by the type's own rule. */
function skipped(row: AuditRow, run: Run | null): string {
  const reason = textOf(row, 'reason')
  if (reason === null)
    return `its holder found nothing to do and skipped ${name(row, run)}${tryOf(row)}`
  if (reason === 'head-newer-than-comment') {
    return `nothing was started for ${name(row, run)}: it may be newer than the comment that asked`
  }
  const about = { ...aboutClaim(row, run), left: null, said: reason }
  return reason === 'stale-event' || reason === 'busy'
    ? claimWords[reason](about)
    : claimWords.skipped(about)
}

const failures: Readonly<Record<string, string>> = {
  no_worker: 'no worker took it in time',
  timeout: 'it was not done in time',
  worker_lost: 'whoever had claimed it fell silent',
  attempts_exhausted: 'too many workers in a row were lost',
}

/** Ours is said in our words, with times as people say them; anybody else's is quoted. */
function failure(row: AuditRow, run: Run | null): string {
  const code = textOf(row, 'code')
  const round = numberOf(row, 'round')
  const isThisRound = run?.state === 'failed' && (round === null || run.round === round)
  return failureWords(code, textOf(row, 'text') ?? (isThisRound ? run.errorText : null))
}

export function failureWords(code: string | null, text: string | null): string {
  if (code !== null && Object.hasOwn(failures, code)) {
    const ours = text?.replace(/\b(\d{1,15}) ms\b/, (_all, ms: string) => lengthWords(Number(ms)))
    return `${ours === undefined ? (failures[code] ?? code) : outside(ours)} (${code})`
  }
  const said = code === null ? null : outside(code, 64)
  if (text !== null && text !== '')
    return said === null ? quoted(text) : `${quoted(text)} (${said})`
  return said === null ? 'its holder gave no reason' : `its holder said ${said}`
}

function tryOf(row: AuditRow): string {
  const round = numberOf(row, 'round') ?? 1
  const attempt = numberOf(row, 'attempt') ?? 1
  const parts = [
    ...(round > 1 ? [`round ${round}`] : []),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ]
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

function why(row: AuditRow, otherwise: string | null): string {
  const said = textOf(row, 'why') ?? otherwise
  return said === null ? '' : `, because ${outside(said)}`
}

const repository = (row: AuditRow, field: string): string => outside(textOf(row, field) ?? 'it')
