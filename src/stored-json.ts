/**
 * JSON that Holdfast stored. It is readable unless something else changed the database.
 *
 * What must hold: what cannot be read stops only the work that needs it, which fails with this
 * code. Lists and other work go on.
 */
import { ConflictError } from './errors.ts'

const code = 'stored_value_unreadable'

/** `what` names the value in the error. */
export function parseStored(json: string, what: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw unreadable(what, cause)
  }
}

export function unreadable(what: string, cause?: unknown): ConflictError {
  return new ConflictError(code, `the stored ${what} cannot be read: it is not JSON`, {
    hint: 'Something other than Holdfast changed the database, or the disk is damaged.',
    cause,
  })
}

/** For answers that show many things: in place of a value that cannot be read, they say so. */
export function shownStored(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return { error: { code, text: 'the stored value cannot be read' } }
  }
}

export function isReadable(json: string | null): boolean {
  try {
    if (json !== null) JSON.parse(json)
    return true
  } catch {
    return false
  }
}
