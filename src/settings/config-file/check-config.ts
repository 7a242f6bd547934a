/**
 * Checks a configuration and returns all its problems. The rules between its parts (such as: no two
 * types with one status context) need valid values. So they are checked on what remains when the
 * invalid values are removed.
 */
import type { z } from 'zod'
import type { Config } from '../../config.ts'
import { argumentSchema, configSchema } from './config-schema.ts'
import { plainCopy } from './plain-copy.ts'
import { shownValue } from '../settings-error.ts'

export interface CheckedConfig {
  /** Without the values that `problems` is about. */
  readonly config: Config
  readonly problems: readonly string[]
}

type Path = readonly PropertyKey[]

/** The greatest depth of a configuration. */
const depthMax = 6

interface Issue {
  readonly path: Path
  readonly message: string
  /** The unknown keys, if that is the problem. */
  readonly keys?: readonly string[]
}

/** Checks the default export of the config file at `path`. */
export function checkConfig(given: unknown, path: string): CheckedConfig {
  return check(configSchema, given, path, 'the default export')
}

/** Checks the argument of a function; `call` is the function's name. */
export function checkArgument(given: unknown, call: string): CheckedConfig {
  return check(argumentSchema, given, call, 'the argument')
}

/** `where` and `what` name the source and the object itself in problems. */
function check(
  schema: z.ZodType<Config>,
  given: unknown,
  where: string,
  what: string,
): CheckedConfig {
  const { value, faults } = plainCopy(given)
  const faulty = faults.map(({ path, message }) => `${where}: ${placeText(path, what)} ${message}`)
  if (faults.some(({ path }) => path.length === 0)) return { config: {}, problems: faulty }
  const parsed = schema.safeParse(value)
  if (parsed.success) return { config: parsed.data, problems: faulty }
  const { issues } = parsed.error
  const problems = issues.flatMap((issue) => problemsOf(issue, value, what))
  return {
    config: withoutFaults(schema, value, issues.flatMap(pathsOf)),
    // A number that is neither whole nor within its bounds is one problem.
    problems: [...faulty, ...new Set(problems.map((problem) => `${where}: ${problem}`))],
  }
}

function problemsOf({ path, message }: Issue, given: unknown, what: string): readonly string[] {
  const value = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)[key], given)
  const place = placeText(path, what)
  // The message of a closed object has one line for each unknown key.
  return message.split('\n').map((line) => {
    const shown = line.startsWith('must be') ? `is ${shownValue(value)} but ` : ''
    return `${place} ${shown}${line}`
  })
}

const placeText = (path: Path, what: string): string => (path.length === 0 ? what : pathText(path))

function pathText(path: Path): string {
  return path
    .map(String)
    .join('.')
    .replace(/\.(\d+)(?=\.|$)/g, '[$1]')
}

function pathsOf({ path, keys }: Issue): readonly Path[] {
  return keys?.map((key) => [...path, key]) ?? [path]
}

function withoutFaults(schema: z.ZodType<Config>, given: unknown, faults: readonly Path[]): Config {
  let remaining = without(given, faults) ?? {}
  for (let depth = 0; depth < depthMax; depth += 1) {
    const parsed = schema.safeParse(withoutUnknownContexts(remaining, faults))
    if (parsed.success) return parsed.data
    // If a removed value was required, the object that it was in is removed too.
    remaining = without(remaining, parsed.error.issues.flatMap(pathsOf).map(parentOf)) ?? {}
  }
  return {}
}

const parentOf = (path: Path): Path => path.slice(0, -1)

/**
 * Returns a copy without the values at these places, or undefined if a place is the value itself.
 */
function without(value: unknown, places: readonly Path[]): unknown {
  if (places.length === 0) return value
  if (places.some((path) => path.length === 0)) return undefined
  const inside = (key: string | number): unknown =>
    without(
      (value as Record<PropertyKey, unknown>)[key],
      places.flatMap(([first, ...below]) => (first === key ? [below] : [])),
    )
  if (Array.isArray(value)) return value.map((_, at) => inside(at)).filter(isGiven)
  const entries = Object.keys(value as object).map((key) => [key, inside(key)] as const)
  return Object.fromEntries(entries.filter(([, inner]) => isGiven(inner)))
}

const isGiven = (value: unknown): boolean => value !== undefined

/**
 * A type with an invalid context would get the default one, and could then seem to share it with
 * another type. So its status is turned off, and its context is not compared.
 */
function withoutUnknownContexts(config: unknown, faults: readonly Path[]): unknown {
  const { runs } = config as { readonly runs?: Readonly<Record<string, object>> }
  if (runs === undefined) return config
  const typesWithBadContext = faults.flatMap(([top, name, part, key]) =>
    top === 'runs' && part === 'status' && (key === undefined || key === 'context') ? [name] : [],
  )
  const entries = Object.entries(runs).map(([name, type]) => [
    name,
    typesWithBadContext.includes(name) ? { ...type, status: false } : type,
  ])
  return { ...(config as object), runs: Object.fromEntries(entries) as unknown }
}
