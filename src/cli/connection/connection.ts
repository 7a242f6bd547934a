/**
 * What a command talks to: a server if its address is given, otherwise the database that the
 * settings name. A flag that names a database overrides a server's address in the environment.
 */
import { Option as Flag, type Command } from 'commander'
import { readVariable } from '../../settings/environment.ts'
import { loadSettings } from '../../settings/load-settings.ts'
import type { OptionKey } from '../../settings/options/options.ts'
import { SettingsError } from '../../settings/settings-error.ts'
import type { Settings } from '../../settings/settings.ts'
import { UsageError } from '../failure.ts'
import { bearerFor, serverAddress } from './server-client.ts'
import { addSettingFlags, givenFlags } from '../serve/setting-flags.ts'
import type { World } from '../world.ts'

/** The settings that name the database. */
const databaseKeys: readonly OptionKey[] = ['dataDir', 'databaseUrl']

export type Parsed = Readonly<Record<string, unknown>>

export type Connection =
  | { readonly kind: 'server'; readonly url: string; readonly bearer: string }
  | { readonly kind: 'database'; readonly settings: Settings }

export function addDatabaseFlags(command: Command): Command {
  return addSettingFlags(command, { only: databaseKeys })
}

export function addConnectionFlags(command: Command): Command {
  const group = 'Through a server:'
  command
    .addOption(new Flag('--url <url>', 'server to ask (HOLDFAST_URL)').helpGroup(group))
    .addOption(
      new Flag(
        '--token <token>',
        'token for it (better: HOLDFAST_TOKEN or HOLDFAST_ADMIN_TOKEN)',
      ).helpGroup(group),
    )
  return addDatabaseFlags(command)
}

/** A flag's text; undefined when it was not given. */
export function textOf(parsed: Parsed, key: string): string | undefined {
  const value = parsed[key]
  return typeof value === 'string' ? value.trim() : undefined
}

export async function connectionOf(world: World, parsed: Parsed): Promise<Connection> {
  const flags = givenFlags(parsed)
  const namesDatabase =
    databaseKeys.some((key) => flags[key] !== undefined) || parsed['config'] !== undefined
  const flag = textOf(parsed, 'url')
  if (flag !== undefined && namesDatabase) {
    throw new UsageError('--url names a server, so it cannot be used with flags for a database')
  }
  const url =
    flag === undefined ? addressFromEnvironment(world, namesDatabase) : serverAddress(flag)
  const token = textOf(parsed, 'token')
  const address = flag === undefined ? 'HOLDFAST_URL' : '--url'
  if (url !== null) return { kind: 'server', url, bearer: bearerFor(world, token, address) }
  if (token !== undefined) {
    throw new UsageError('--token is for a server; give --url as well, or leave it out')
  }
  return { kind: 'database', settings: await settingsOf(world, parsed) }
}

export async function settingsOf(world: World, parsed: Parsed): Promise<Settings> {
  const { env, cwd } = world
  return await loadSettings({
    flags: givenFlags(parsed),
    config: textOf(parsed, 'config'),
    env,
    cwd,
  })
}

function addressFromEnvironment(world: World, namesDatabase: boolean): string | null {
  if (namesDatabase) return null
  const answer = readVariable(world.env, 'HOLDFAST_URL', world.cwd, false)
  if ('problem' in answer) throw new SettingsError([answer.problem])
  return answer.found === null ? null : serverAddress(answer.found.text, 'HOLDFAST_URL')
}
