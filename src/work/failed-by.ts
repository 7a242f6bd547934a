/**
 * The end of a run whose work threw something, which need not be an Error.
 *
 * What must hold: nothing here throws, and nothing that is thrown can change how the run ends. A
 * thrown value may be a Proxy, or have fields that throw when they are read.
 */
import { inspect } from 'node:util'
import type { Completion } from '../domain/completion.ts'
import { HoldfastError } from '../errors.ts'
import type { Log } from '../log.ts'
import { hideSecrets } from '../texts/hide-secrets.ts'

const textMax = 20_000
const codeForm = /^[a-z0-9_.-]{1,64}$/
const unreadable = 'something was thrown that cannot be read'

export function failedBy(thrown: unknown): Completion {
  return { outcome: 'failed', error: { code: codeOf(thrown), text: textOf(thrown) } }
}

function codeOf(thrown: unknown): string {
  const code = readOr(null, () => ((thrown ?? {}) as { readonly code?: unknown }).code)
  return typeof code === 'string' && codeForm.test(code) ? code : 'handler_failed'
}

/** What a person reads about it. A thrown value that is no Error is shown as JSON. */
export function textOf(thrown: unknown): string {
  const text = readOr(unreadable, () =>
    thrown instanceof Error ? errorText(thrown) : valueText(thrown),
  )
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

/** `instanceof` for a thrown value. */
export function isA<T>(thrown: unknown, kind: new (...args: never[]) => T): thrown is T {
  return readOr(false, () => thrown instanceof kind)
}

/**
 * Logs a thrown value. It is copied first, because a log may write to an error, and a frozen one
 * throws then.
 */
export function warnOf(log: Log, thrown: unknown, about: object, message: string): void {
  readOr(undefined, () => log.warn({ ...about, err: copyOf(thrown) }, message))
}

function copyOf(thrown: unknown): Error {
  const copy = new Error(textOf(thrown))
  const name: unknown = readOr(null, () => (thrown as Error).name)
  copy.name = typeof name === 'string' ? name : 'Error'
  // With its causes. Getters are not called.
  copy.stack = readOr(copy.message, () => inspect(thrown, { depth: 4 }).slice(0, textMax))
  return copy
}

function readOr<T, O>(otherwise: O, read: () => T): T | O {
  try {
    return read()
  } catch {
    return otherwise
  }
}
