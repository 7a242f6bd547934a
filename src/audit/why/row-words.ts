/**
 * One audit row in words: a clause for each type, without its time and without a full stop. It says
 * only what the row contains. The run and the webhook only add their names.
 */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { ClaimReason } from '../../domain/claim.ts'
import { claimReasons } from '../../domain/claim.ts'
import { shortFailure } from '../../domain/failure-text.ts'
import { permissionWords, type GitHubPermissions } from '../../domain/github-permissions.ts'
import { activeStates, type Run } from '../../domain/run.ts'
import { deliveryRowWords, type NamedDelivery } from './delivery-words.ts'
import {
  atStart,
  keyWords,
  lengthWords,
  numberOf,
  cleanText,
  outsideMax,
  quoted,
  runWords,
  shortSha,
  textOf,
  workerWords,
} from './names.ts'
import { stepRowWords } from './step-words.ts'
import { becauseWords, eventOfRow, eventWords } from './webhook-words.ts'

/** What a row is about, as far as it is known. */
export interface RowAbout {
  /** Null if the run was removed, or the row is about none. */
  readonly run: Run | null
  readonly delivery: NamedDelivery | null
  /** Who did it; null if the line above says so. */
  readonly who: string | null
}

type Words = (row: AuditRow, about: RowAbout) => string

export function rowWords(row: AuditRow, about: RowAbout): string {
  const { type } = row
  if (isOfStep(type)) return stepRowWords[type](row, about)
  return isOfDelivery(type) ? deliveryRowWords[type](row, about) : words[type](row, about)
}

const isOfStep = (type: AuditType): type is keyof typeof stepRowWords =>
  Object.hasOwn(stepRowWords, type)

const isOfDelivery = (type: AuditType): type is keyof typeof deliveryRowWords =>
  Object.hasOwn(deliveryRowWords, type)

type OtherTypes = Exclude<AuditType, keyof typeof deliveryRowWords | keyof typeof stepRowWords>

const words: Readonly<Record<OtherTypes, Words>> = {
  'webhook.received': arrival,
  'webhook.duplicate': () => 'GitHub sent this event again; nothing was done twice',
  'webhook.ignored': (row) => `${arrival(row)}: nothing was started, because ${because(row)}`,
  'webhook.processed': (row) => `${arrival(row)}: nothing had to be done`,
  'webhook.failed': (row) => `${arrival(row)}: it could not be decided, because ${because(row)}`,
  'webhook.postponed': (row) =>
    `It could not be decided yet: ${cleanText(textOf(row, 'why') ?? 'the reason is not known')}`,
  'webhook.caught_up': (row) =>
    `${arrival(row)}. ${missedWords(row)}, so Holdfast fetched it from GitHub`,
  'run.claimed': claimed,
  'run.reclaimed': claimed,
  'run.claim_skipped': claimed,
  'run.leased': (row, { run }) => `${worker(row)} took ${name(row, run)}${tryOf(row)}`,
  'run.released': (row, { run }) =>
    `${worker(row)} gave ${name(row, run)} back; it waits for the next worker`,
  'run.command_ended': commandEnded,
  'run.dequeued': (row, { run }) =>
    `${name(row, run)} is next in line and waits for a worker${why(row)}`,
  'run.heartbeat_lost': (row, { run }) =>
    textOf(row, 'why') === null
      ? `${worker(row)} was silent for too long; ${name(row, run)} waits for the next worker`
      : `${name(row, run)} waits in line again${why(row)}`,
  'run.lease_revoked': (row, { run, who }) =>
    `${atStart(who ?? 'somebody')} revoked the token of ${workerWords(textOf(row, 'worker'))}, ` +
    `which worked on ${name(row, run)}`,
  'run.head_unverified': () =>
    'GitHub could not be asked which commit is the newest; the last that arrived counts',
  'run.head_verified': (row) =>
    `GitHub confirmed that ${shortSha(textOf(row, 'head_sha') ?? 'it')} is the newest commit`,
  'run.superseded': (row, { run }) =>
    `${name(row, run)} was superseded by ${keyWords(textOf(row, 'by') ?? 'a newer one')}` +
    why(row),
  'run.succeeded': (row, { run }) =>
    `${name(row, run)} finished${verdictWords(textOf(row, 'verdict'))}${tryOf(row)}`,
  'run.failed': (row, { run }) => `${name(row, run)} failed${tryOf(row)}: ${failure(row, run)}`,
  'run.cancelled': (row, { run, who }) => {
    const by = who === null ? '' : ` by ${who}`
    return `${name(row, run)} was cancelled${by}${why(row)}`
  },
  'run.skipped': skipped,
  'run.purged': (row, { run }) =>
    `${name(row, run)} was removed, because it was past its retention; ` +
    `it was ${cleanText(textOf(row, 'state') ?? 'ended', 20)}`,
  'run.agent.status_reported': (row, { run, who }) => {
    const status = textOf(row, 'status')
    const statusWords = status === null ? '' : `: ${quoted(status)}`
    return `${atStart(who ?? 'its worker')} reported on ${shortName(row, run)}${statusWords}`
  },
  'run.github_token_issued': (row, { who }) =>
    `${atStart(who ?? 'its worker')} got a GitHub token for ${repository(row, 'repo')}` +
    permissionsIn(row),
  'repository.identified': (row) => `GitHub's id of ${repository(row, 'name')} became known`,
  'repository.renamed': (row) =>
    `${repository(row, 'from')} was renamed to ${repository(row, 'to')}`,
  'repository.merged': (row) =>
    `Two names turned out to be one repository, ${repository(row, 'name')}`,
  'operator.rerun_requested': (row, { run, who }) =>
    `${asked(who)} ${name(row, run)} again; it starts when this round ends`,
  'operator.cancel_requested': (row, { run, who }) =>
    `${atStart(who ?? 'somebody')} asked to cancel ${name(row, run)}`,
  'operator.replay_requested': (_row, { who }) =>
    `${atStart(who ?? 'somebody')} asked Holdfast to decide this webhook again`,
  'operator.token_created': (_row, { who }) => `${atStart(who ?? 'somebody')} created a token`,
  'operator.token_deleted': (row, { who }) => {
    const token = textOf(row, 'name')
    const which = token === null ? 'a token' : `the token ${cleanText(token, 60)}`
    return `${atStart(who ?? 'somebody')} revoked ${which}`
  },
  'operator.keys_rotated': (_row, { who }) => `${atStart(who ?? 'somebody')} added a marker key`,
  'operator.keys_exported': (_row, { who }) =>
    `${atStart(who ?? 'somebody')} exported the marker keys`,
  'operator.keys_imported': (_row, { who }) => `${atStart(who ?? 'somebody')} imported marker keys`,
  'store.restored': () => 'The database was restored from an older copy',
  'store.moved': () => 'The database was moved from SQLite to PostgreSQL',
  'access.refused': (row) =>
    `${cleanText(textOf(row, 'address') ?? 'somebody', 60)} sent ${refusedWords(row)}`,
}

const asked = (who: string | null): string => `${atStart(who ?? 'somebody')} asked for`
const worker = (row: AuditRow): string => atStart(workerWords(textOf(row, 'worker')))

function commandEnded(row: AuditRow, { run }: RowAbout): string {
  const command = `The command of ${name(row, run)}`
  if (textOf(row, 'failure') === 'not_started') {
    // The failure of the run, in the next line, says what to do.
    const [, why] = / could not be started: (.+?)(?:\. |\.?$)/.exec(textOf(row, 'text') ?? '') ?? []
    return `${command} could not be started${why === undefined ? '' : `: ${cleanText(why)}`}`
  }
  const isLate = isEnded(textOf(row, 'run_state'))
  return `${command} ended${exitWords(row)}${isLate ? ' after the run had ended' : ''}`
}

const isEnded = (state: string | null): boolean =>
  state !== null && !activeStates.some((active) => active === state)

function exitWords(row: AuditRow): string {
  const code = numberOf(row, 'exit_code')
  const signal = textOf(row, 'signal')
  if (code !== null) return ` with exit code ${code}`
  return signal === null ? '' : ` by the signal ${cleanText(signal, 20)}`
}

/** Why a webhook was missed, by the answer that GitHub recorded. */
function missedWords(row: AuditRow): string {
  const answered = numberOf(row, 'answered')
  if (answered === 401) return 'Its webhook had a wrong signature and was refused (401)'
  if (answered === null || answered === 0) return 'Its webhook did not arrive'
  return `Its webhook was not accepted (GitHub got the answer ${answered})`
}

function refusedWords(row: AuditRow): string {
  const what =
    textOf(row, 'what') === 'signature' ? 'webhooks with a wrong signature' : 'wrong tokens'
  const count = numberOf(row, 'count')
  return count === null ? what : `${what} (${count === 1 ? 'once' : `${count} times`})`
}

/** `review of 9c1185a` */
function name(row: AuditRow, run: Run | null): string {
  if (run !== null) return runWords(run)
  const key = textOf(row, 'key')
  if (key !== null) return `the run of ${keyWords(key)}`
  return row.runId === null ? 'the run' : `run ${row.runId}`
}

/** `9c1185a` */
function shortName(row: AuditRow, run: Run | null): string {
  if (run === null) return name(row, run)
  return run.headSha === null ? keyWords(run.key) : shortSha(run.headSha)
}

function arrival(row: AuditRow): string {
  const event = eventOfRow(row)
  return event === null ? 'Holdfast decided on the webhook' : eventWords(event)
}

function because(row: AuditRow): string {
  const reason = textOf(row, 'reason')
  if (reason === null) return 'of a reason that is not known'
  return becauseWords({ reason, result: null, event: textOf(row, 'event') })
}

export interface ClaimAbout {
  /** `review of 9c1185a` */
  readonly what: string
  /** `9c1185a` */
  readonly key: string
  readonly round: number
  readonly attempt: number
  /** The state that the run started in: `pending` waits for a worker. Null: nothing was started. */
  readonly startState: 'pending' | 'running' | null
  /** The reason in the words of the type's rule. */
  readonly ruleText: string | null
  /** Who claimed it; null if a webhook did, which is in the line above. */
  readonly who: string | null
}

/** A claim of which only the run's name is known. */
export const claimDefaults = {
  round: 1,
  attempt: 1,
  startState: null,
  ruleText: null,
  who: null,
} as const

/** What a claim decided, one clause for each reason of the table in domain/claim.ts. */
export const claimWords: Readonly<Record<ClaimReason, (about: ClaimAbout) => string>> = {
  new: started,
  'superseded-prior': started,
  reclaimed: takenOver,
  rerun: (about) => again(about, 'as somebody asked'),
  retry: (about) => again(about, 'because the round before had no result'),
  returned: (about) => again(about, `because ${about.key} is the newest commit again`),
  restored: ({ key }) =>
    `${key} is the newest commit again. It was finished before, so no work is needed`,
  duplicate: ({ who, what }) =>
    who === null
      ? `${what} already exists, so nothing was started`
      : `${asked(who)} ${what}, which already exists, so nothing was started`,
  'stale-event': ({ what }) => `Nothing was started for ${what}: a newer commit was known`,
  queued: ({ what }) => `${what} waits in line behind another run`,
  busy: ({ what }) => `${what} was not started, because another run was active`,
  skipped: ({ what, ruleText }) => `${what} was skipped, because ${ruleWords(ruleText)}`,
}

export const ruleWords = (ruleText: string | null): string =>
  ruleText === null || ruleText === 'filtered'
    ? 'its rule (when) said no'
    : `its rule (when) said ${quoted(ruleText)}`

/** The reasons that lead to work, now or later. */
export const startingReasons: ReadonlySet<ClaimReason> = new Set<ClaimReason>([
  'new',
  'superseded-prior',
  'reclaimed',
  'rerun',
  'retry',
  'returned',
  'queued',
])

export function isClaimReason(text: string | null): text is ClaimReason {
  return claimReasons.some((reason) => reason === text)
}

/** A claim that leaves the work to a worker, such as a rerun, takes nothing over itself. */
function takenOver({ who, what, attempt, startState }: ClaimAbout): string {
  const why = `its holder was silent for too long (attempt ${attempt})`
  if (startState !== 'pending') {
    return `${atStart(who ?? 'a new claim')} took ${what} over, because ${why}`
  }
  const waits = 'waits for a worker in the same round, because'
  return who === null
    ? `${what} ${waits} ${why}`
    : `${asked(who)} ${what} again. It ${waits} ${why}`
}

function started({ who, what, startState }: ClaimAbout): string {
  const waits = startState === 'pending' ? ' and waits for a worker' : ''
  return who === null ? `${what} started${waits}` : `${atStart(who)} claimed ${what}`
}

function again({ who, what, round, startState }: ClaimAbout, reason: string): string {
  const waits = startState === 'pending' ? ' and waits for a worker' : ''
  return who === null
    ? `${what} started again (round ${round})${waits}, ${reason}`
    : `${asked(who)} ${what} again. Round ${round} started${waits}`
}

function claimed(row: AuditRow, { run, who }: RowAbout): string {
  const reason = textOf(row, 'reason')
  const about = claimAbout(row, run, who)
  return isClaimReason(reason) ? claimWords[reason](about) : `${about.what} was decided`
}

function claimAbout(row: AuditRow, run: Run | null, who: string | null): ClaimAbout {
  const key = textOf(row, 'key') ?? run?.key ?? ''
  const state = row.type === 'run.claim_skipped' ? null : textOf(row, 'state')
  return {
    what: name(row, run),
    key: keyWords(key),
    round: numberOf(row, 'round') ?? 1,
    attempt: numberOf(row, 'attempt') ?? 1,
    startState: state === 'pending' || state === 'running' ? state : null,
    ruleText: null,
    who,
  }
}

/** Skipped by its holder, by the decision on the claim, or by the type's own rule. */
function skipped(row: AuditRow, { run, who }: RowAbout): string {
  const reason = textOf(row, 'reason')
  if (reason === null) {
    const text = textOf(row, 'text') ?? firstLine(textOf(row, 'summary'))
    const why = text === null ? 'nothing to do' : quoted(text)
    return `${atStart(who ?? 'its worker')} skipped ${name(row, run)}${tryOf(row)}: ${why}`
  }
  if (reason === 'head-newer-than-comment') {
    return `Nothing was started for ${name(row, run)}: it may be newer than the comment`
  }
  const about = { ...claimAbout(row, run, who), startState: null, ruleText: reason }
  return reason === 'stale-event' || reason === 'busy'
    ? claimWords[reason](about)
    : claimWords.skipped(about)
}

/** Follows "finished". */
export function verdictWords(verdict: string | null): string {
  if (verdict === null) return ''
  if (verdict === 'success') return ': passed'
  return verdict === 'failure' ? ': not passed' : `: ${cleanText(verdict, 20)}`
}

const failures: Readonly<Record<string, string>> = {
  no_worker: 'no worker took it in time',
  timeout: 'it did not finish in time',
  worker_lost: 'whoever had claimed it was silent for too long',
  attempts_exhausted: 'too many workers were lost',
  step_unresolved: 'nobody decided about its held step in time',
}

/** Our own reasons are in our words, with readable times. Other reasons are quoted. */
function failure(row: AuditRow, run: Run | null): string {
  const code = textOf(row, 'code')
  const round = numberOf(row, 'round')
  const isThisRound = run?.state === 'failed' && (round === null || run.round === round)
  const text = textOf(row, 'text') ?? (isThisRound ? run.errorText : null)
  const summary = firstLine(textOf(row, 'summary') ?? (isThisRound ? run.summary : null))
  return failureWords(code, text ?? summary)
}

/** Why a failed run failed. */
export const failureOf = ({ errorCode, errorText, summary }: Run): string =>
  failureWords(errorCode, errorText ?? firstLine(summary))

/** The first line of a Markdown text, without the marks of a heading. */
export function firstLine(text: string | null): string | null {
  const line = text?.split('\n').find((one) => one.trim() !== '')
  return line === undefined ? null : line.replace(/^#{1,6}\s+/, '').trim()
}

export function failureWords(code: string | null, text: string | null): string {
  if (code !== null && Object.hasOwn(failures, code)) {
    const ours = text?.replace(/\b(\d{1,15}) ms\b/, (_all, ms: string) => lengthWords(Number(ms)))
    return `${ours === undefined ? (failures[code] ?? code) : cleanText(ours)} (${code})`
  }
  const codeText = code === null ? null : cleanText(code, 64)
  if (text !== null && text !== '') {
    const words = quoted(shortFailure(code, text, outsideMax))
    return codeText === null ? words : `${words} (${codeText})`
  }
  return codeText ?? 'its worker gave no reason'
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

function why(row: AuditRow): string {
  const reason = textOf(row, 'why')
  return reason === null ? '' : `, because ${cleanText(reason)}`
}

/** What a GitHub token may do, in brackets. */
function permissionsIn(row: AuditRow): string {
  const permissions = (row.data['permissions'] ?? {}) as GitHubPermissions
  const listed = cleanText(permissionWords(permissions))
  return listed === '' ? '' : ` (${listed})`
}

const repository = (row: AuditRow, field: string): string => cleanText(textOf(row, field) ?? 'it')
