/**
 * All problems of the settings together, so that a person can fix them at once. A problem
 * names the setting, the source of its value and what is allowed, but never a secret.
 */
import { SetupError } from '../errors.ts'
import { inspect } from 'node:util'
import { hideForms, tokenForms } from '../texts/hide-secrets.ts'

export class SettingsError extends SetupError {
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options: { readonly hint?: string } = {}) {
    super('bad_settings', problems.join('\n'), options)
    this.problems = problems
  }
}

const shownLengthMax = 60

/**
 * An invalid value as an error message repeats it. It is cut short, everything that looks like a
 * secret is hidden, and the contents of objects and lists are not shown.
 */
export function shownValue(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return inspect(value)
  const text = JSON.stringify(hideForms(value, tokenForms))
  return text.length > shownLengthMax ? `${text.slice(0, shownLengthMax - 3)}...` : text
}
