/**
 * How a command that failed ends: one clear message with its remedy, never a stack trace, and the
 * exit code that tells scripts what kind of failure it was.
 */
import { problemKindOf } from '../contract/problems.ts'
import { HoldfastError } from '../errors.ts'
import { SettingsError } from '../settings/settings-error.ts'

export const exitCodes = { fine: 0, failed: 1, wrongUsage: 2, unreachable: 3 } as const

/** The command was called wrongly. */
export class UsageError extends HoldfastError {
  constructor(message: string, hint?: string) {
    super('wrong_usage', message, hint === undefined ? {} : { hint })
  }
}

/** A server did not answer. */
export class UnreachableError extends HoldfastError {}

/** A server refused; `code` is the problem's. */
export class RefusedError extends HoldfastError {}

/** Adds the command's own hint to a refusal, by its code. A server or the store may refuse. */
export async function withHint<T>(
  work: Promise<T>,
  hints: Readonly<Record<string, string>>,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    const hint = error instanceof HoldfastError ? hints[error.code] : undefined
    if (hint === undefined || !(error instanceof HoldfastError)) throw error
    throw new RefusedError(error.code, error.message, { hint, cause: error })
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof SettingsError || error instanceof UsageError) return exitCodes.wrongUsage
  if (error instanceof UnreachableError) return exitCodes.unreachable
  return exitCodes[problemKindOf(error)?.exit ?? 'failed']
}

export function failureText(error: unknown): string {
  const problems = error instanceof SettingsError ? error.problems : [capitalized(messageOf(error))]
  const list = problems.map((problem) => `  - ${problem}\n`).join('')
  const text =
    problems.length === 1
      ? `holdfast: ${String(problems[0])}\n`
      : `holdfast: ${problems.length} problems:\n${list}`
  const hint = error instanceof HoldfastError ? error.hint : undefined
  return hint === undefined ? text : `${text}  ${hint}\n`
}

/**
 * Errors of other parts begin with a small letter, because there they follow a colon. A word with
 * other characters than letters is a name and stays as it is.
 */
function capitalized(message: string): string {
  return message.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase())
}

function messageOf(error: unknown): string {
  if (error instanceof Error && error.message !== '') return error.message
  const code = (error as NodeJS.ErrnoException | null)?.code
  return code === undefined ? 'an unknown error' : `failed with ${code}`
}
