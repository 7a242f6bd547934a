/**
 * Stores how the work ended, and says with which exit code `exec` ends.
 *
 *   the command ended     the run           exit
 *   0                     succeeded         0
 *   78                    skipped           78
 *   any other code        failed            that code; 128 + N for signal N
 *   could not be started  failed            127 if it was not found, 126 if it is not executable
 *   0, bad result file    failed            1
 *   interrupted           failed            130 for SIGINT, 143 for SIGTERM
 *   stopped by a loss     somebody else's   1
 *   its lease ran out     unknown           3: the server or the store was away
 *   any way               goes on in the    as above: a rerun was requested meanwhile, and whoever
 *                         next round        asked for it does that round
 *   0                     could not be      3: nobody knows of the result, so the work is done
 *                         stored            again
 *
 * What must hold: 0 only if the store has the result of a command that succeeded.
 */
import { commandOutcome } from '../../executors/command/command-outcome.ts'
import type { CommandResults } from '../../executors/command/result-files.ts'
import { completeBody, type CompleteBody, type RunView } from '../../contract/runs.ts'
import { HoldfastError } from '../../errors.ts'
import { exitCodes } from '../failure.ts'
import { printable } from '../output/printable.ts'
import { exitCodeOf, ofRun, whyWords, workWords, type Ending } from './ending.ts'
import { awayMsMax, type HeldLease } from './get-lease.ts'
import { insist, unlessAborted, type Insisting } from './insist.ts'
import { exitCodeOfSignal } from './interruption.ts'
import type { Loss } from './keep-lease.ts'
import { isAway, type RunAccess } from './run-access.ts'
import type { CommandRun } from './run-command.ts'
import type { ExecEnd } from './start-command.ts'

export interface StoreEndOptions {
  readonly access: RunAccess
  readonly held: HeldLease
  readonly insisting: Insisting
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
  // A bad result file: the command itself found nothing wrong.
  const isBad = own === exitCodes.fine && body.outcome === 'failed'
  return await endAs(body, isBad ? exitCodes.failed : own, options)
}

/** How long an interrupted job tries to say that it did not start. */
const notStartedMsMax = 5000

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
  { access, held, insisting }: StoreEndOptions,
  forMs = awayMsMax,
): Promise<Ending> {
  const { run, leaseToken } = held
  const late = new AbortController()
  const cancelLate =
    forMs < awayMsMax ? insisting.scheduler.after(forMs, () => late.abort()) : () => undefined
  const store = (): Promise<RunView> =>
    unlessAborted(access.complete(run.id, { ...body, lease_token: leaseToken }), late.signal)
  try {
    const stored = await insist(store, forMs, insisting, late.signal)
    return storedEnding(stored, body, exitCode, held)
  } catch (error) {
    if (isAway(error)) return notStored(run, exitCode, access.place)
    if (!(error instanceof HoldfastError)) throw error
    return refusedEnding((await latest(run, access)) ?? run, error)
  } finally {
    cancelLate()
  }
}

function storedEnding(
  stored: RunView,
  body: CompleteBody,
  exitCode: number,
  { reason, run: held }: HeldLease,
): Ending {
  const { outcome, error } = body
  const hasNext = stored.round !== held.round
  const run = hasNext ? endedRound(held, body) : stored
  const own = ofRun(run, reason)
  if (run.state !== outcome) {
    const words = `The run was completed with its run token: ${run.state}${whyWords(run)}.`
    const code = exitCode === exitCodes.fine ? exitCodeOf(run) : exitCode
    return { ...own, exitCode: code, words }
  }
  const code = typeof error === 'object' && error.code === 'interrupted' ? error.code : reason
  const done = `${stateWords[outcome]}: ${workWords(run)} (${run.id})${whyWords(run)}.`
  const ending = { ...own, reason: code, exitCode }
  if (!hasNext) return { ...ending, words: done }
  const isFree = stored.state === 'pending'
  const words = `${done} A rerun was requested, so ${nextWords(stored, isFree)}.`
  return { ...ending, words, ...(isFree && { nextRound: stored }) }
}

/** The answer shows the next round already, which has nothing of the one that was stored. */
function endedRound(held: RunView, { outcome, summary, error }: CompleteBody): RunView {
  const why = typeof error === 'string' ? { code: 'failed', text: error } : (error ?? null)
  return { ...held, state: outcome, outcome, summary: summary ?? null, error: why }
}

function nextWords({ id, round }: RunView, isFree: boolean): string {
  return isFree
    ? `${id} now waits for whoever does round ${round}`
    : `somebody else does round ${round} of it now`
}

const stateWords = { succeeded: 'Done', failed: 'Failed', skipped: 'Skipped' } as const

function notStored(run: RunView, exitCode: number, place: string): Ending {
  const words =
    `The result of ${run.id} could not be stored, because ${place} could not be reached. When ` +
    'its lease has ended, the next claim does the work again.'
  const code = exitCode === exitCodes.fine ? exitCodes.unreachable : exitCode
  return { ...ofRun(run, 'not-stored'), outcome: null, exitCode: code, words }
}

function refusedEnding(run: RunView, error: HoldfastError): Ending {
  const reason = error.code.replaceAll('_', '-')
  const words = `The result does not count: ${printable(error.message)}.`
  return { ...ofRun(run, reason), exitCode: exitCodes.failed, words }
}

async function afterLoss(
  loss: Loss,
  end: ExecEnd,
  { access, held }: StoreEndOptions,
): Promise<Ending> {
  const { code } = loss
  const run = await latest(held.run, access)
  if (run === null) return unreachable(held.run, access.place)
  if (code === 'ended') {
    if (run.round !== held.run.round) return completedBefore(run, end, held)
    const exitCode = end.exitCode === null ? exitCodeOf(run) : end.exitCode || exitCodeOf(run)
    const words = `The run was completed with its run token: ${run.state}${whyWords(run)}.`
    return { ...ofRun(run, held.reason), exitCode, words }
  }
  if (run.round !== held.run.round) return roundIsOver(run, end, held)
  // A run that took too long, or was given up, says so.
  const why = run.state === 'failed' ? whyWords(run) : ''
  const words = `Stopped: ${printable(loss.text)}${why}.`
  // It is back, but the lease had ended, or this process was stopped for too long.
  const reason = code === 'away' ? 'lease-lost' : code.replaceAll('_', '-')
  return { ...ofRun(run, reason), exitCode: exitCodes.failed, words }
}

/** The run shows the next round already, so nothing says how the one of before was completed. */
function completedBefore(run: RunView, end: ExecEnd, { reason }: HeldLease): Ending {
  const isFree = run.state === 'pending'
  const words =
    'The run was completed with its run token. A rerun was requested, so ' +
    `${nextWords(run, isFree)}.`
  const own = { ...ofRun(run, reason), outcome: null, exitCode: end.exitCode ?? exitCodes.failed }
  return { ...own, words, ...(isFree && { nextRound: run }) }
}

/** It ended without its holder, and a rerun was requested. */
function roundIsOver(run: RunView, end: ExecEnd, held: HeldLease): Ending {
  const [ended, begun] = [held.run.round, run.round]
  const words = `Stopped: round ${ended} of ${run.id} has ended, and round ${begun} has begun.`
  const own = { ...ofRun(run, 'lease-lost'), outcome: null }
  return { ...own, exitCode: end.exitCode || exitCodes.failed, words }
}

/** The run as it is now. Null if nobody answers. */
function latest(run: RunView, access: RunAccess): Promise<RunView | null> {
  return access.run(run.id).catch(() => null)
}

function unreachable(run: RunView, place: string): Ending {
  const words =
    `Stopped, and nobody can say how ${run.id} goes on, because ${place} could not be reached. ` +
    'When its lease has ended, the next claim does the work again.'
  const lost = { ...ofRun(run, 'unreachable'), outcome: null }
  return { ...lost, exitCode: exitCodes.unreachable, words }
}
