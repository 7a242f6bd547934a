/**
 * Puts the settings together: a flag is used before the environment, the environment before the
 * config file, the config file before the default. An invalid value is always an error, even if
 * another source overrides it. It is never replaced by a default. All problems are reported at
 * once.
 */
import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import type { StoreMode } from '../store.ts'
import { checkArgument } from './config-file/check-config.ts'
import { loadConfigFile, type LoadedConfig } from './config-file/config-file.ts'
import { readEnvironment, type Environment, type FoundText } from './environment.ts'
import { isLoopbackName } from '../validation/text-fields.ts'
import { didYouMeanOrAll, didYouMeanValue } from '../validation/nearest.ts'
import { flagOf, hasFlag, type Option } from './options/option.ts'
import { optionEntries, options, type OptionKey, type OptionValues } from './options/options.ts'
import { contextProblems } from './run-types/publish-rights.ts'
import type { Settings } from './settings.ts'
import { SettingsError } from './settings-error.ts'
import { shownValue } from './settings-error.ts'
import { withTypeDefaults } from './run-types/type-defaults.ts'
import type { Database } from './options/value-kind.ts'

/** The function that a program calls to embed Holdfast. */
const libraryCall = 'openHoldfast'

export interface SettingsSources {
  /** The text of each flag, by setting key; undefined if the flag was not given. */
  readonly flags?: Readonly<Record<string, string | undefined>>
  readonly env: Environment
  readonly cwd: string
  /** Path of the config file. If it is missing, the usual names are tried. */
  readonly config?: string | undefined
  /** The configuration itself, from a program that embeds Holdfast. Then no file is read. */
  readonly inline?: Config
  /** False: this process executes no runs. */
  readonly work?: boolean
}

export async function loadSettings(sources: SettingsSources): Promise<Settings> {
  const file: LoadedConfig =
    sources.inline === undefined
      ? await loadConfigFile(sources.cwd, sources.config ?? null)
      : { path: null, ...checkArgument(sources.inline, libraryCall) }
  const { hint } = file
  const environment = readEnvironment(sources.env, sources.cwd)
  const flags = readFlags(sources.flags ?? {})
  const problems = [...flags.problems, ...environment.problems, ...file.problems]
  const values: Record<string, unknown> = {}
  for (const [key, entry] of optionEntries) {
    const texts = [flags.found.get(key), environment.found.get(key)]
    const given = texts.flatMap((found) =>
      found === undefined ? [] : [parseText(key, entry, found, problems)],
    )
    const configured = (file.config as Record<string, unknown>)[key]
    if (configured !== undefined) {
      given.push(parseConfigured(key, entry, configured, file.path, problems))
    }
    values[key] = given.length > 0 ? given[0] : entry.default
  }
  const types = withTypeDefaults(file.config)
  problems.push(
    ...appProblems(values, sources.env),
    ...plainApiProblems(values, sources.inline === undefined),
    ...queueProblems(values, sources.inline === undefined),
    ...contextProblems(types.runs, file.path ?? libraryCall),
  )
  if (problems.length > 0) throw new SettingsError(problems, hint === undefined ? {} : { hint })

  const { databaseUrl, ...plain } = values as OptionValues
  const dataDir = resolve(sources.cwd, plain.dataDir)
  return freezeDeep({
    ...plain,
    ...types,
    dataDir,
    database: placeDatabase(databaseUrl, sources.cwd, dataDir),
    githubWebhookSecrets: plain.githubWebhookSecrets ?? [],
    mode: modeOf(plain),
    work: sources.work ?? true,
    configFile: file.path,
  })
}

interface FoundFlags {
  readonly found: ReadonlyMap<OptionKey, FoundText>
  readonly problems: readonly string[]
}

function readFlags(flags: NonNullable<SettingsSources['flags']>): FoundFlags {
  const found = new Map<OptionKey, FoundText>()
  const problems: string[] = []
  const flagKeys = optionEntries.filter(([, entry]) => hasFlag(entry)).map(([key]) => key)
  for (const [key, text] of Object.entries(flags)) {
    if (text === undefined) continue
    const right = flagKeys.find((name) => name === key)
    if (right === undefined) {
      const meant = didYouMeanOrAll(flagOf(key), flagKeys.map(flagOf), 'Options')
      problems.push(`Unknown option ${JSON.stringify(flagOf(key))}. ${meant}`)
    } else {
      found.set(right, { text: text.trim(), source: 'from the command line' })
    }
  }
  return { found, problems }
}

function parseText(key: OptionKey, entry: Option, found: FoundText, problems: string[]): unknown {
  const parsed = entry.kind.fromText.safeParse(found.text)
  if (parsed.success) return parsed.data
  const name = found.source === 'from the command line' ? flagOf(key) : entry.env
  problems.push(badValue(name, found.source, entry, found.text))
  return undefined
}

function parseConfigured(
  key: OptionKey,
  entry: Option,
  value: unknown,
  path: string | null,
  problems: string[],
): unknown {
  const parsed = entry.kind.fromConfig.safeParse(value)
  if (parsed.success) return parsed.data
  const [name, source] = path === null ? [`${libraryCall}: ${key}`, null] : [key, `from ${path}`]
  problems.push(badValue(name, source, entry, value))
  return undefined
}

function badValue(name: string, source: string | null, entry: Option, value: unknown): string {
  const shown = entry.kind.mayShow ? ` is ${shownValue(value)} but` : ''
  const unit = entry.unit === null ? '' : ` (${entry.unit})`
  const from = source === null ? '' : ` (${source})`
  const { choices = [] } = entry.kind
  const mistake = typeof value === 'string' ? entry.kind.mistake?.(value) : null
  const meant = mistake ?? (typeof value === 'string' ? didYouMeanValue(value, choices) : '')
  const problem = `${name}${from}${shown} must be ${entry.kind.allowed}${unit}`
  return meant === '' ? problem : `${problem}. ${meant}`
}

/**
 * An App id without a private key, or the reverse, is a mistake and does not mean the sandbox. A
 * key file that could not be read is already reported.
 */
function appProblems(values: Readonly<Record<string, unknown>>, env: Environment): string[] {
  const { githubAppId, githubPrivateKey } = options
  const hasId = values['githubAppId'] !== null
  const isFile = env[`${githubPrivateKey.env}_FILE`] !== undefined
  const hasKey = isFile || values['githubPrivateKey'] !== null
  if (hasId === hasKey) return []
  const [given, missing] = hasId
    ? [githubAppId.env, githubPrivateKey.env]
    : [githubPrivateKey.env, githubAppId.env]
  return [`${given} is set, but ${missing} is not. A GitHub App needs both`]
}

/** The credentials are sent to this address, so others on the network could read them. */
function plainApiProblems(
  { githubApiUrl }: Readonly<Record<string, unknown>>,
  hasEnvironment: boolean,
): string[] {
  if (typeof githubApiUrl !== 'string') return []
  const { protocol, hostname } = new URL(githubApiUrl)
  if (protocol === 'https:' || isLoopbackName(hostname)) return []
  const name = hasEnvironment ? options.githubApiUrl.env : `${libraryCall}: githubApiUrl`
  return [
    `${name} is ${githubApiUrl}, which would send the GitHub credentials ` +
      'unencrypted to another machine. Use https',
  ]
}

function queueProblems(
  { queueUrl, databaseUrl }: Readonly<Record<string, unknown>>,
  hasEnvironment: boolean,
): string[] {
  const isSqlite = databaseUrl === null || (databaseUrl as Database | undefined)?.kind === 'sqlite'
  if (typeof queueUrl !== 'string' || !isSqlite) return []
  const [queue, database] = hasEnvironment
    ? [options.queueUrl.env, options.databaseUrl.env]
    : [`${libraryCall}: queueUrl`, 'databaseUrl']
  return [
    `${queue} is set, but the database is SQLite. Only one process works on a SQLite file, so a ` +
      `queue has nobody to wake. Unset it, or set ${database} to postgres://USER@HOST/NAME`,
  ]
}

function placeDatabase(given: Database | null, cwd: string, dataDir: string): Database {
  if (given === null) return { kind: 'sqlite', path: resolve(dataDir, 'holdfast.db') }
  if (given.kind === 'postgres' || given.path === ':memory:') return given
  return { kind: 'sqlite', path: resolve(cwd, given.path) }
}

function modeOf(
  values: Pick<
    OptionValues,
    'githubToken' | 'githubAppId' | 'githubPrivateKey' | 'githubWebhookSecrets'
  >,
): StoreMode {
  const app = values.githubAppId !== null && values.githubPrivateKey !== null
  const canAct = app || values.githubToken !== null
  return canAct && values.githubWebhookSecrets !== null ? 'live' : 'sandbox'
}

/** Freezes a value and everything in it, except functions, which are the user's. */
function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) freezeDeep(inner)
  }
  return value
}
