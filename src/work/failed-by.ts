/** The end of a run whose work threw something, which need not be an Error. */
import type { Completion } from '../domain/completion.ts'
import { HoldfastError } from '../errors.ts'
import { hideSecrets } from '../texts/hide-secrets.ts'

const textMax = 20_000
const codeForm = /^[a-z0-9_.-]{1,64}$/

export function failedBy(thrown: unknown): Completion {
  return { outcome: 'failed', error: { code: codeOf(thrown), text: textOf(thrown) } }
}

function codeOf(thrown: unknown): string {
  const { code } = (thrown ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' && codeForm.test(code) ? code : 'handler_failed'
}

/** What a person reads about it. A thrown value that is no Error is shown as JSON. */
export function textOf(thrown: unknown): string {
  const text = thrown instanceof Error ? errorText(thrown) : valueText(thrown)
  // The store takes no NUL and no half of a character.
  return hideSecrets(text.slice(0, textMax).replaceAll('\0', '').toWellFormed())
}

function errorText(error: Error): string {
  if (!(error instanceof HoldfastError)) return `${error.name}: ${error.message}`
  return error.hint === undefined ? error.message : `${error.message}. ${error.hint}`
}

function valueText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  try {
    return `something that is not an Error was thrown: ${JSON.stringify(thrown)}`
  } catch {
    return `something that is not an Error was thrown: a ${typeof thrown}`
  }
}
