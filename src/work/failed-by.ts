/**
 * The end of a run whose work threw something, which need not be an Error.
 *
 * What must hold: nothing here throws, and nothing that is thrown can change how the run ends.
 */
import type { Completion } from '../domain/completion.ts'
import type { Log } from '../log.ts'
import { readableCopy, readOr, textOf } from '../texts/thrown-value.ts'

const codeForm = /^[a-z0-9_.-]{1,64}$/

export function failedBy(thrown: unknown): Completion {
  return { outcome: 'failed', error: { code: codeOf(thrown), text: textOf(thrown) } }
}

function codeOf(thrown: unknown): string {
  const code = readOr(null, () => ((thrown ?? {}) as { readonly code?: unknown }).code)
  return typeof code === 'string' && codeForm.test(code) ? code : 'handler_failed'
}

/** Logs a thrown value. A log that cannot be written changes nothing. */
export function warnOf(log: Log, thrown: unknown, about: object, message: string): void {
  readOr(undefined, () => log.warn({ ...about, err: readableCopy(thrown) }, message))
}
