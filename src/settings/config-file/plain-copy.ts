/**
 * Copies a configuration, so that each value is read once and only here: a getter may throw, and a
 * `Map` or a promise has no keys, so it would count as an empty configuration. Functions, texts and
 * numbers stay as they are. A faulty value is left out of the copy and returned as a fault.
 */

export interface Fault {
  readonly path: readonly string[]
  /** What is wrong, to be read after the path. */
  readonly message: string
}

export interface PlainCopy {
  /** Undefined if the value itself is faulty. */
  readonly value: unknown
  readonly faults: readonly Fault[]
}

/** No configuration is deeper. An object that contains itself is not followed further. */
const depthMax = 10

export function plainCopy(given: unknown): PlainCopy {
  const faults: Fault[] = []
  return { value: copyOf(given, [], faults), faults }
}

function copyOf(value: unknown, path: readonly string[], faults: Fault[]): unknown {
  if (typeof value !== 'object' || value === null || path.length > depthMax) return value
  const kind = kindOf(value)
  if (kind !== null) {
    const isPromise = kind === 'Promise'
    const remedy = isPromise ? 'Write await before it' : 'Write { ... }'
    faults.push({ path, message: `is a ${kind} but must be a plain object. ${remedy}` })
    return undefined
  }
  const entries = Object.keys(value).map((key) => {
    const place = [...path, key]
    try {
      return [key, copyOf((value as Record<string, unknown>)[key], place, faults)] as const
    } catch (error) {
      faults.push({ path: place, message: `could not be read: ${errorText(error)}` })
      return [key, undefined] as const
    }
  })
  if (Array.isArray(value)) return entries.map(([, item]) => item)
  return Object.fromEntries(entries)
}

/** The class of an object that is neither a list nor a plain object; null for those. */
function kindOf(value: object): string | null {
  if (Array.isArray(value)) return null
  const prototype = Object.getPrototypeOf(value) as object | null
  // Objects of another realm have another Object.prototype, which also inherits from nothing.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return null
  const { name } = (prototype as { readonly constructor?: { readonly name?: unknown } })
    .constructor ?? { name: '' }
  return typeof name === 'string' && name !== '' ? name : 'class instance'
}

const errorText = (error: unknown): string =>
  error instanceof Error
    ? `${error.name}: ${error.message}`
    : 'it threw something that is not an Error'
