/**
 * The settings in a form that may be logged: of a secret only whether it is given, addresses with
 * masked passwords, run types by name.
 */
import { isDeepStrictEqual } from 'node:util'
import { optionEntries } from './options/options.ts'
import type { Settings } from './settings.ts'
import { withTypeDefaults } from './run-types/type-defaults.ts'

/** Only the settings that differ from their defaults. */
export function describeChanges(settings: Settings): Readonly<Record<string, unknown>> {
  const all = describeSettings(settings)
  const defaults: Readonly<Record<string, unknown>> = {
    work: true,
    configFile: null,
    ...typeDefaults(),
    ...Object.fromEntries(optionEntries.map(([key, entry]) => [key, entry.default])),
  }
  return Object.fromEntries(
    Object.entries(all).filter(([key, value]) => !isDeepStrictEqual(value, defaults[key])),
  )
}

function typeDefaults(): Readonly<Record<string, unknown>> {
  const { runs, channels, retention } = withTypeDefaults({})
  return { runs: Object.keys(runs), channels, retention }
}

export function describeSettings(settings: Settings): Readonly<Record<string, unknown>> {
  const described: Record<string, unknown> = {
    mode: settings.mode,
    work: settings.work,
    configFile: settings.configFile,
  }
  for (const [key, entry] of optionEntries) {
    if (key === 'databaseUrl') {
      described['database'] = describeDatabase(settings)
      continue
    }
    const value = settings[key]
    if (entry.secret === 'whole') {
      const empty = value === null || (Array.isArray(value) && value.length === 0)
      described[key] = empty ? null : '(given)'
    } else {
      const masked = entry.secret === 'password' && typeof value === 'string'
      described[key] = masked ? maskUrl(value) : value
    }
  }
  return {
    ...described,
    runs: Object.keys(settings.runs),
    channels: settings.channels,
    retention: settings.retention,
  }
}

export function describeDatabase({ database }: Pick<Settings, 'database'>): string {
  return database.kind === 'sqlite' ? `sqlite:${database.path}` : maskUrl(database.url)
}

/** A password can also be in the query: `?password=`. */
const isSecretName = (name: string): boolean => /pass|secret|token|key/i.test(name)

export function maskUrl(text: string): string {
  if (!URL.canParse(text)) return '(hidden)'
  const url = new URL(text)
  if (url.password !== '') url.password = '***'
  for (const name of [...url.searchParams.keys()]) {
    if (isSecretName(name)) url.searchParams.set(name, '***')
  }
  return url.href
}

/** An address that a person can copy and add the password to. */
export function withoutPassword(text: string): string {
  const url = new URL(text)
  url.password = ''
  for (const name of [...url.searchParams.keys()]) {
    if (isSecretName(name)) url.searchParams.delete(name)
  }
  return url.href
}
