/**
 * Checks a configuration and says everything that is wrong with it. The rules between its parts
 * (two types with one status context) need a configuration without faults, so they are given what
 * is left of it once the faulty values are taken out.
 */
import type { z } from 'zod'
import type { Config } from '../config.ts'
import { argumentSchema, configSchema } from './config-schema.ts'
import { shownValue } from './shown-value.ts'

export interface CheckedConfig {
  /** Without what `problems` tells of. */
  readonly config: Config
  readonly problems: readonly string[]
}

type Path = readonly PropertyKey[]

/** How deep a configuration can be. */
const depthMax = 6

interface Issue {
  readonly path: Path
  readonly message: string
  /** Of unknown keys. */
  readonly keys?: readonly string[]
}

/** Of the config file at this path. */
export function checkConfig(given: unknown, path: string): CheckedConfig {
  return check(configSchema, given, path, 'the default export')
}

/** `call`: what it was given to. */
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
  const parsed = schema.safeParse(given)
  if (parsed.success) return { config: parsed.data, problems: [] }
  const { issues } = parsed.error
  const told = issues.flatMap((issue) => problemsOf(issue, given, what))
  return {
    config: withoutFaults(schema, given, issues.flatMap(pathsOf)),
    // A number that is neither whole nor within its bounds is said to be wrong once.
    problems: [...new Set(told.map((problem) => `${where}: ${problem}`))],
  }
}

function problemsOf({ path, message }: Issue, given: unknown, what: string): readonly string[] {
  const value = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)[key], given)
  const place = path.length === 0 ? what : pathText(path)
  // A closed object tells its unknown keys line by line.
  return message.split('\n').map((line) => {
    const shown = line.startsWith('must be') ? `is ${shownValue(value)} but ` : ''
    return `${place} ${shown}${line}`
  })
}

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
  let left = without(given, faults) ?? {}
  for (let depth = 0; depth < depthMax; depth += 1) {
    const parsed = schema.safeParse(withUnknownContexts(left, faults))
    if (parsed.success) return parsed.data
    // What a fault left without a part that it needs goes too.
    left = without(left, parsed.error.issues.flatMap(pathsOf).map(wholeOf)) ?? {}
  }
  return {}
}

/** A place that is missing is a fault of what it is missing in. */
const wholeOf = (path: Path): Path => path.slice(0, -1)

/** A copy without the values at these places; undefined when it is itself at one of them. */
function without(value: unknown, places: readonly Path[]): unknown {
  if (places.length === 0) return value
  if (places.some((path) => path.length === 0)) return undefined
  const inside = (key: string | number): unknown =>
    without(
      (value as Record<PropertyKey, unknown>)[key],
      places.flatMap(([first, ...rest]) => (first === key ? [rest] : [])),
    )
  if (Array.isArray(value)) return value.map((_, at) => inside(at)).filter(isGiven)
  const entries = Object.keys(value as object).map((key) => [key, inside(key)] as const)
  return Object.fromEntries(entries.filter(([, inner]) => isGiven(inner)))
}

const isGiven = (value: unknown): boolean => value !== undefined

/**
 * A type whose context is wrong would have the default one, and could then seem to share it with
 * another type: nothing is said of its context.
 */
function withUnknownContexts(config: unknown, faults: readonly Path[]): unknown {
  const { runs } = config as { readonly runs?: Readonly<Record<string, object>> }
  if (runs === undefined) return config
  const unknown = faults.flatMap(([top, name, part, key]) =>
    top === 'runs' && part === 'status' && (key === undefined || key === 'context') ? [name] : [],
  )
  const entries = Object.entries(runs).map(([name, type]) => [
    name,
    unknown.includes(name) ? { ...type, status: false } : type,
  ])
  return { ...(config as object), runs: Object.fromEntries(entries) as unknown }
}
