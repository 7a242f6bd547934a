/**
 * How `exec` ends without doing the work itself: its exit code, and why, in words.
 *
 *   the claim says  the run is                    exit
 *   duplicate       succeeded                     0
 *   duplicate       failed, cancelled             1: this event is not new, so nobody tries again
 *   duplicate       skipped                       78, as the one that skipped it
 *   duplicate       running, waiting              waits for its end; --no-wait: 0
 *   duplicate       pending                       does it at its turn; --no-wait: does it if it has
 *                                                 its turn now, else 1: nobody may be there for it
 *   duplicate       active, with --rerun          waits, and does the next round; --no-wait: 1, as
 *                                                 the rerun is kept, but nobody is there for it
 *   restored        succeeded                     0: its result is shown again
 *   stale-event     skipped, or as it was         1: a newer head is known
 *   busy            skipped                       1: another run of its subject is active
 *   queued          pending                       waits for its turn; with --no-wait the claim says
 *                                                 busy instead
 *
 * What must hold: 0 only if the work was done, or if the caller chose not to wait for somebody who
 * does it.
 */
import type { ClaimedView, RunView } from '../../contract/runs.ts'
import { exitCodes, UsageError } from '../failure.ts'
import { printable } from '../output/printable.ts'
import { aboutText } from '../runs/runs-table.ts'
import { relativeTime } from '../output/time-text.ts'
import { sentence } from '../../texts/sentences.ts'

/** The exit code of a command that did nothing, and wants that to be known. */
export const skippedCode = 78

export interface Ending {
  readonly exitCode: number
  /** The state of the run, as far as it is known. */
  readonly outcome: RunView['state'] | null
  /** For programs: the claim's reason, or what ended it otherwise. */
  readonly reason: string
  readonly words: string
  /** Null if it is not known yet. */
  readonly runKey: string | null
  readonly run: RunView | null
  /** A rerun was requested meanwhile, and nobody does it yet: the run in its next round. */
  readonly nextRound?: RunView
}

/** `review of acme/widgets#5` */
export function workWords(run: RunView): string {
  return printable(`${run.type} of ${aboutText(run)}`)
}

export function exitCodeOf({ state }: Pick<RunView, 'state'>): number {
  if (state === 'succeeded') return exitCodes.fine
  return state === 'skipped' ? skippedCode : exitCodes.failed
}

/** The run has ended. Somebody else did the work, or did not. */
export function endedElsewhere(run: RunView, reason: string, nowMs: number): Ending {
  return { ...ofRun(run, reason), exitCode: exitCodeOf(run), words: endWords(run, reason, nowMs) }
}

function endWords(run: RunView, reason: string, nowMs: number): string {
  const when = run.finished_at === null ? '' : ` ${whenWords(run.finished_at, nowMs)}`
  if (run.state === 'succeeded') {
    return `Nothing to do: ${run.id} did ${workWords(run)}${when}${verdictWords(run)}.`
  }
  const ended = `${run.id} (${workWords(run)}) ended as ${run.state}${when}${whyWords(run)}`
  // Whoever waited saw it end. Otherwise this event was decided before.
  if (reason === 'waited') return sentence(`Not done: ${ended}`)
  const why = sentence(`Not done: this event is not new, and ${ended}`)
  return `${why} To do it again, give --rerun.`
}

/** After "did", "now" would sound as if it was still being done. */
function whenWords(time: string, nowMs: number): string {
  const when = relativeTime(time, nowMs)
  return when === 'now' ? 'a moment ago' : when
}

function verdictWords({ verdict }: RunView): string {
  return verdict === null || verdict === 'success' ? '' : ` (verdict: ${verdict})`
}

const whyMax = 400

/** The first line of its error. */
export function whyWords({ state, error }: RunView): string {
  if (state === 'superseded') return ': a newer head took its place'
  if (error === null) return ''
  const [line = ''] = (error.text ?? '').split('\n', 1)
  const text = line === '' ? error.code : `${error.code}: ${line}`
  return `: ${printable(text.length > whyMax ? `${text.slice(0, whyMax)}…` : text).toWellFormed()}`
}

export function staleEvent({ run, run_key: runKey, reason }: ClaimedView): Ending {
  const words =
    'Not done: this event is out of date, because a newer head is known. The event of the newer ' +
    'head leads to the work.'
  return { exitCode: exitCodes.failed, outcome: run?.state ?? null, reason, words, runKey, run }
}

export function busy({ run, run_key: runKey, reason }: ClaimedView, wait: boolean): Ending {
  const of = run === null ? 'the same subject' : printable(aboutText(run))
  const why = wait
    ? "runs of this type are skipped meanwhile (onNewer: 'skip')."
    : '--no-wait does not wait for its end.'
  const words = `Not done: another run of ${of} is active, and ${why}`
  return { exitCode: exitCodes.failed, outcome: run?.state ?? null, reason, words, runKey, run }
}

/**
 * The row was purged, and the claim says only that there is nothing to do. `isCertain`: such a
 * claim starts the work again, unless it succeeded.
 */
export function purged({ run_key: runKey, reason }: ClaimedView, isCertain: boolean): Ending {
  const words = isCertain
    ? 'Nothing to do: this work succeeded before. Its run is past its retention.'
    : 'Not done: this event is not new, and the run of this work is past its retention, so ' +
      'nobody can say how it ended. To do the work again, give --rerun.'
  const exitCode = isCertain ? exitCodes.fine : exitCodes.failed
  return { exitCode, outcome: isCertain ? 'succeeded' : null, reason, words, runKey, run: null }
}

/** `somebody else does review of acme/widgets#5 now (run_1, attempt 1)` */
export function activeWords(run: RunView): string {
  const { id, state, attempt } = run
  if (state === 'pending') return `${id} (${workWords(run)}) is pending`
  if (state === 'running')
    return `somebody else does ${workWords(run)} now (${id}, attempt ${attempt})`
  return waitingWords(run)
}

/** Of a run with a held step. */
export function waitingWords(run: RunView): string {
  return (
    `${run.id} (${workWords(run)}) waits until somebody decides about its held step; ` +
    `to see which: holdfast runs steps ${run.id}`
  )
}

/** The command inside this run would wait for itself. */
export function waitsForItself(run: RunView): UsageError {
  return new UsageError(
    `This command is a part of ${run.id} (${workWords(run)}). The work that it asks for is the ` +
      'same, or waits for the end of that run, so it would wait for itself',
    'Give it another --key, and no --subject or another one, or leave out the inner holdfast exec.',
  )
}

export function notWaitedFor(run: RunView): Ending {
  const words = `Not waiting, because of --no-wait: ${activeWords(run)}.`
  return { ...ofRun(run, 'no-wait'), exitCode: exitCodes.fine, words }
}

/** Not green: whoever queued it may be gone, and then nobody does it at its turn. */
export function leftInQueue(run: RunView): Ending {
  const words =
    `Not done: ${run.id} (${workWords(run)}) is queued behind another run, and nobody holds it. ` +
    'It waits for a worker or for the next exec of the same work. To wait for its turn here, ' +
    `leave out --no-wait. To see which run is ahead: holdfast why ${run.id}`
  return { ...ofRun(run, 'queued'), exitCode: exitCodes.failed, words }
}

/** Not green: the caller wants new work, and this process will not be there to do it. */
export function rerunRequested(run: RunView): Ending {
  const words =
    `Not done yet: ${run.id} (${workWords(run)}) is still active. The rerun is requested. It ` +
    'begins when this round has ended, and waits for a worker or for the next exec of the same ' +
    'work. To wait for it here, leave out --no-wait.'
  return { ...ofRun(run, 'rerun-requested'), exitCode: exitCodes.failed, words }
}

export const ofRun = (run: RunView, reason: string) => ({
  outcome: run.state,
  reason,
  runKey: run.key,
  run,
})
