/**
 * What the end of a command means for its run.
 *
 * Exit code 0 is success and 78 is "skipped". Everything else is a failure, and the run's error has
 * the last lines of the output.
 */
import { commandFailed } from '../../domain/failure-text.ts'
import type { Outcome } from '../../domain/run.ts'
import type { CommandEnd } from './commands.ts'
import type { CommandResults } from './result-files.ts'

const skippedCode = 78
const linesMax = 20
const charactersMax = 2000

export interface CommandOutcome {
  readonly outcome: Outcome
  readonly summary: string | null
  readonly result: unknown
  readonly error: { readonly code: string; readonly text: string } | null
}

/**
 * Null if the command did not end by itself but with the lease or the guard. Then nothing is known
 * about the work, and its run is given back or already somebody else's.
 */
export function commandOutcome(end: CommandEnd, results: CommandResults): CommandOutcome | null {
  if (end.failure === 'lease_ended' || end.failure === 'guard_lost') return null
  const { summary, result, problem } = results
  const failed = (code: string, text: string): CommandOutcome => ({
    outcome: 'failed',
    summary,
    result,
    error: { code, text },
  })
  if (end.failure !== null) return failed('command_not_started', end.failureText ?? '')
  if (end.exitCode !== 0 && end.exitCode !== skippedCode) {
    return failed(commandFailed, failureText(end, problem))
  }
  if (problem !== null) return failed('bad_result_file', problem)
  const outcome = end.exitCode === skippedCode ? 'skipped' : 'succeeded'
  return { outcome, summary, result, error: null }
}

function failureText(end: CommandEnd, problem: string | null): string {
  const how = end.failureText ?? endedHow(end)
  const head = problem === null ? how : `${how}\n${problem}`
  const last = lastLines(end.output, charactersMax - head.length - 1)
  return last === '' ? head : `${head}\n${last}`
}

function endedHow({ exitCode, signal }: CommandEnd): string {
  return exitCode === null ? `signal ${String(signal)}` : `exit code ${exitCode}`
}

/** Empty lines at the end say nothing and do not count. */
export function lastLines(output: string, charactersLeft = charactersMax): string {
  const lines = output.trimEnd().split('\n').slice(-linesMax).join('\n')
  const start = Math.max(0, lines.length - charactersLeft)
  // Half of a pair of characters must not come first.
  const isSplit = /^[\udc00-\udfff]/.test(lines.slice(start))
  return lines.slice(isSplit ? start + 1 : start)
}
