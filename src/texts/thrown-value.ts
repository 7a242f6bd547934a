/**
 * What somebody else's code threw, for a person and for a log.
 *
 * What must hold: nothing here throws. A thrown value need not be an Error: it may be a Proxy, or
 * have fields that throw when they are read.
 */
import { inspect } from 'node:util'
import { HoldfastError } from '../errors.ts'
import { cutText } from './cut-text.ts'
import { hideSecrets } from './hide-secrets.ts'
import { sentence } from './sentences.ts'

const textMax = 20_000
const unreadable = 'something was thrown that cannot be read'

/** What a person reads about it. A thrown value that is no Error is shown as JSON. */
export function textOf(thrown: unknown): string {
  const text = readOr(unreadable, () =>
    thrown instanceof Error ? errorText(thrown) : valueText(thrown),
  )
  // The store takes no NUL and no half of a character.
  return hideSecrets(cutText(text, textMax).replaceAll('\0', ''))
}

function errorText(error: Error): string {
  if (!(error instanceof HoldfastError)) return `${error.name}: ${error.message}`
  return error.hint === undefined ? error.message : `${sentence(error.message)} ${error.hint}`
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
 * For a log, which may write to an error that it is given: a frozen one throws then. Also a field
 * that throws when it is read would end the process.
 */
export function readableCopy(thrown: unknown): Error {
  const copy = new Error(textOf(thrown))
  const name: unknown = readOr(null, () => (thrown as Error).name)
  copy.name = typeof name === 'string' ? name : 'Error'
  // With its causes. Getters are not called.
  copy.stack = readOr(copy.message, () => inspect(thrown, { depth: 4 }).slice(0, textMax))
  return copy
}

/** What `read` returns, or `otherwise` if it throws. */
export function readOr<T, O>(otherwise: O, read: () => T): T | O {
  try {
    return read()
  } catch {
    return otherwise
  }
}
