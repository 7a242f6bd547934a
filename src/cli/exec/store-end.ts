/**
 * Stores how the work ended, and says with which exit code `exec` ends.
 *
 *   the command ended     the run           exit
 *   0                     succeeded         0
 *   78                    skipped           78
 *   any other code        failed            that code; 128 + N for signal N
 *   could not be started  failed            127 if it was not found, 126 if it is not executable
 *   0 or 78, bad result   failed            1
 *   file
 *   interrupted           failed            129 for SIGHUP, 130 for SIGINT, 143 for SIGTERM
 *   stopped by a loss     somebody else's   1
 *   its lease ran out     unknown           3: the server or the store was away
 *   any way               goes on in the    as above: a rerun was requested meanwhile, and whoever
 *                         next round        asked for it does that round
 *   0 or 78               was completed     by how it was completed, also if it goes on in the next
 *                         with its token    round: 0, 1 or 78; 3 if nobody can say how
 *   0 or 78               could not be      3: nobody knows of the result, so the work is done
 *                         stored            again
 *
 * What must hold: 0 only if the store has the result of a command that succeeded, and 78 only if
 * the run is skipped. A job may take 78 for success.
 */
import { commandOutcome } from '../../executors/command/command-outcome.ts'
import type { CommandResults } from '../../executors/command/result-files.ts'
import { completeBody, type CompleteBody, type RunView } from '../../contract/runs.ts'
import { HoldfastError } from '../../errors.ts'
import type { Cancel } from '../../scheduler.ts'
import { exitCodes } from '../failure.ts'
import { printable } from '../output/printable.ts'
import {
  exitCodeOf,
  ofRun,
  skippedCode,
  waitingWords,
  whyWords,
  workWords,
  type Ending,
} from './ending.ts'
import { awayMsMax, type HeldLease } from './get-lease.ts'
import { insist, unlessAborted, type Insisting } from './insist.ts'
import { exitCodeOfSignal, type Interruption } from './interruption.ts'
import type { Loss } from './keep-lease.ts'
import { isAway, type RunAccess } from './run-access.ts'
import { findRoundEnd, type Look } from './round-end.ts'
import type { CommandRun } from './run-command.ts'
import type { ExecEnd } from './start-command.ts'
import { sentence } from '../../texts/sentences.ts'

export interface StoreEndOptions {
  readonly access: RunAccess
  readonly held: HeldLease
  readonly insisting: Insisting
  readonly interruption: Pick<Interruption, 'onEach'>
}

export async function storeEnd(
  { end, stop }: CommandRun,
  results: CommandResults,
  options: StoreEndOptions,
): Promise<Ending> {
  if (stop?.by === 'loss') return await afterLoss(stop.loss, end, options)
  if (stop?.by === 'interruption') {
    const error = { code: 'interrupted', text: `interrupted by ${stop.signal}` }
    const exitCode = exitCodeOfSignal(stop.signal)
    // What stops us kills us soon. A command that never started has nothing to lose.
    const forMs = end.failure === 'not_started' ? notStartedMsMax : awayMsMax
    return await endAs({ outcome: 'failed', error }, exitCode, options, forMs)
  }
  const outcome = stop === null ? commandOutcome(end, results) : null
  if (outcome === null) {
    const text = 'The process that guards commands was lost, so the command was killed.'
    const error = { code: 'guard_lost', text }
    return await endAs({ outcome: 'failed', error }, exitCodes.failed, options)
  }
  const { summary, result, error } = outcome
  const body = storable({
    outcome: outcome.outcome,
    ...(summary !== null && { summary }),
    ...(result !== null && { result }),
    ...(error !== null && { error }),
  })
  const own = ownExitCode(end)
  // With a bad result file the run fails, although the command itself found nothing wrong.
  return await endAs(body, exitCodeIn({ state: body.outcome }, own), options)
}

/** Whether this code says that nothing went wrong. So it counts only if the run says so, too. */
const isGood = (exitCode: number): boolean =>
  exitCode === exitCodes.fine || exitCode === skippedCode

/** The command's own code, if it ended by itself and that code does not contradict its run. */
function exitCodeIn(run: Pick<RunView, 'state'>, own: number | null): number {
  return own === null || isGood(own) ? exitCodeOf(run) : own
}

/** How long an interrupted job tries to say that it did not start. */
const notStartedMsMax = 5000
/** How long it tries to store a result after a signal. What sends it kills us soon. */
const lastTryMsMax = 3000

/** Before the command could be started. */
export async function storeNotStarted(text: string, options: StoreEndOptions): Promise<Ending> {
  const error = { code: 'command_not_started', text }
  return await endAs({ outcome: 'failed', error }, exitCodes.failed, options)
}

const notFound = 127
const notExecutable = 126

function ownExitCode({ exitCode, signal, startCode }: ExecEnd): number {
  if (startCode !== null) {
    if (startCode === 'ENOENT') return notFound
    return startCode === 'EACCES' ? notExecutable : exitCodes.failed
  }
  if (exitCode !== null) return exitCode
  return signal === null ? exitCodes.failed : exitCodeOfSignal(signal as NodeJS.Signals)
}

/** What the store would refuse must not keep the end of the run from being stored. */
function storable(body: CompleteBody): CompleteBody {
  const parsed = completeBody.safeParse(body)
  if (parsed.success) return body
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`)
  const text = `What the command left cannot be stored: ${problems.join('; ')}`
  return { outcome: 'failed', error: { code: 'bad_result_file', text } }
}

async function endAs(
  body: CompleteBody,
  exitCode: number,
  { access, held, insisting, interruption }: StoreEndOptions,
  forMs = awayMsMax,
): Promise<Ending> {
  const { run, leaseToken } = held
  const late = new AbortController()
  const giveUpIn = (ms: number): Cancel => insisting.scheduler.after(ms, () => late.abort())
  const cancelLate = forMs < awayMsMax ? giveUpIn(forMs) : () => undefined
  interruption.onEach(() => void giveUpIn(lastTryMsMax))
  const store = (): Promise<RunView> =>
    unlessAborted(access.complete(run.id, { ...body, lease_token: leaseToken }), late.signal)
  try {
    const stored = await insist(store, forMs, insisting, late.signal)
    if (stored.round === run.round) return storedEnding(stored, body, exitCode, held)
    const look = { access, insisting, forMs, signal: late.signal }
    return await roundEnding(stored, body, exitCode, held, look)
  } catch (error) {
    if (isAway(error)) return notStored(run, exitCode, access.place)
    if (!(error instanceof HoldfastError)) throw error
    return refusedEnding((await latest(run, access)) ?? run, error)
  } finally {
    cancelLate()
  }
}

function storedEnding(
  run: RunView,
  body: CompleteBody,
  exitCode: number,
  { reason }: HeldLease,
): Ending {
  const own = ofRun(run, reason)
  if (run.state !== body.outcome) {
    return { ...own, exitCode: exitCodeIn(run, exitCode), words: completedByToken(run) }
  }
  return { ...own, reason: codeOf(body) ?? reason, exitCode, words: doneWords(run) }
}

/** The answer shows the next round already, which has nothing of the one that has ended. */
async function roundEnding(
  next: RunView,
  body: CompleteBody,
  exitCode: number,
  { run: held, reason }: HeldLease,
  look: Look,
): Promise<Ending> {
  const end = await findRoundEnd(held, look)
  if (end === null) return unknownRoundEnd(next, held, exitCode)
  if (end.state === body.outcome) {
    const run = endedRound(held, body)
    const own = { ...ofRun(run, codeOf(body) ?? reason), exitCode }
    return { ...own, ...goesOn(next, doneWords(run)) }
  }
  const run = { ...held, ...end }
  const own = { ...ofRun(run, reason), exitCode: exitCodeIn(run, exitCode) }
  return { ...own, ...goesOn(next, completedByToken(run)) }
}

function endedRound(held: RunView, { outcome, summary, error }: CompleteBody): RunView {
  const why = typeof error === 'string' ? { code: 'failed', text: error } : (error ?? null)
  return { ...held, state: outcome, outcome, summary: summary ?? null, error: why }
}

const codeOf = ({ error }: CompleteBody): string | null =>
  typeof error === 'object' && error.code === 'interrupted' ? error.code : null

const completedByToken = (run: RunView): string =>
  sentence(`The run was completed with its run token: ${run.state}${whyWords(run)}`)

const doneWords = (run: RunView): string =>
  sentence(`${stateWords[run.state] ?? run.state}: ${workWords(run)} (${run.id})${whyWords(run)}`)

/** A rerun was requested. */
function goesOn(next: RunView, words: string): Pick<Ending, 'words' | 'nextRound'> {
  const isFree = next.state === 'pending'
  const { id, round } = next
  const how = isFree
    ? `${id} now waits for whoever does round ${round}`
    : `somebody else does round ${round} of it now`
  return {
    words: `${words} A rerun was requested, so ${how}.`,
    ...(isFree && { nextRound: next }),
  }
}

/** Not green: it may have failed. */
function unknownRoundEnd(next: RunView, held: RunView, exitCode: number): Ending {
  const words =
    `Nobody can say how round ${held.round} of ${held.id} was completed, because its audit could ` +
    'not be read.'
  const own = { ...ofRun(next, 'unreachable'), outcome: null }
  const code = isGood(exitCode) ? exitCodes.unreachable : exitCode
  return { ...own, exitCode: code, ...goesOn(next, words) }
}

const stateWords: Readonly<Partial<Record<RunView['state'], string>>> = {
  ...{ succeeded: 'Done', failed: 'Failed', skipped: 'Skipped' },
}

function notStored(run: RunView, exitCode: number, place: string): Ending {
  const words =
    `The result of ${run.id} could not be stored, because ${place} could not be reached. When ` +
    'its lease has ended, the next claim does the work again.'
  const code = isGood(exitCode) ? exitCodes.unreachable : exitCode
  return { ...ofRun(run, 'not-stored'), outcome: null, exitCode: code, words }
}

function refusedEnding(run: RunView, error: HoldfastError): Ending {
  const reason = error.code.replaceAll('_', '-')
  const why = run.state === 'waiting' ? waitingWords(run) : printable(error.message)
  const words = sentence(`The result does not count: ${why}`)
  return { ...ofRun(run, reason), exitCode: exitCodes.failed, words }
}

async function afterLoss(
  loss: Loss,
  end: ExecEnd,
  { access, held, insisting }: StoreEndOptions,
): Promise<Ending> {
  const { code } = loss
  const run = await latest(held.run, access)
  if (run === null) return unreachable(held.run, access.place)
  if (code === 'ended') {
    if (run.round !== held.run.round) {
      return await completedBefore(run, end, held, { access, insisting })
    }
    const exitCode = exitCodeIn(run, end.exitCode)
    return { ...ofRun(run, held.reason), exitCode, words: completedByToken(run) }
  }
  if (run.round !== held.run.round) return roundIsOver(run, end, held)
  // A run that took too long, or was given up, says so.
  const failure = run.state === 'failed' ? whyWords(run) : ''
  const why = run.state === 'waiting' ? waitingWords(run) : `${printable(loss.text)}${failure}`
  const words = sentence(`Stopped: ${why}`)
  // It is back, but the lease had ended, or this process was stopped for too long.
  const reason = code === 'away' ? 'lease-lost' : code.replaceAll('_', '-')
  return { ...ofRun(run, reason), exitCode: exitCodes.failed, words }
}

/** The run shows the next round already. */
async function completedBefore(
  next: RunView,
  { exitCode }: ExecEnd,
  { run: held, reason }: HeldLease,
  look: Look,
): Promise<Ending> {
  const end = await findRoundEnd(held, look)
  if (end === null) return unknownRoundEnd(next, held, exitCode ?? exitCodes.failed)
  const run = { ...held, ...end }
  const code = exitCodeIn(run, exitCode)
  return { ...ofRun(run, reason), exitCode: code, ...goesOn(next, completedByToken(run)) }
}

/** It ended without its holder, and a rerun was requested. */
function roundIsOver(run: RunView, end: ExecEnd, held: HeldLease): Ending {
  const [ended, begun] = [held.run.round, run.round]
  const words = `Stopped: round ${ended} of ${run.id} has ended, and round ${begun} has begun.`
  const own = { ...ofRun(run, 'lease-lost'), outcome: null }
  const { exitCode } = end
  const code = exitCode === null || isGood(exitCode) ? exitCodes.failed : exitCode
  return { ...own, exitCode: code, words }
}

/** The run as it is now, or as it was if we may not see it any more. Null if nobody answers. */
function latest(run: RunView, access: RunAccess): Promise<RunView | null> {
  return access.run(run.id).catch((error: unknown) => (isAway(error) ? null : run))
}

function unreachable(run: RunView, place: string): Ending {
  const words =
    `Stopped, and nobody can say how ${run.id} goes on, because ${place} could not be reached. ` +
    'When its lease has ended, the next claim does the work again.'
  const lost = { ...ofRun(run, 'unreachable'), outcome: null }
  return { ...lost, exitCode: exitCodes.unreachable, words }
}
