/**
 * The secrets a server cannot do without, given or made at its first start. On SQLite one machine
 * serves the store, so what is missing is made and kept in the data folder; on PostgreSQL several
 * machines share it and must be given the same admin token.
 */
import { mkdir } from 'node:fs/promises'
import { SetupError } from '../errors.ts'
import type { Random } from '../random.ts'
import { makeSecret } from '../secrets.ts'
import { keepSecret, type KeptSecret } from './kept-secret.ts'
import { options } from './options.ts'
import type { Settings } from './settings.ts'
import { SettingsError } from './settings-error.ts'

export interface MadeSecret {
  readonly label: string
  readonly value: string
  readonly path: string
}

export interface ServerSecrets {
  readonly adminToken: string
  readonly webhookSecrets: readonly string[]
  /** To be shown now and never again. */
  readonly made: readonly MadeSecret[]
  readonly warnings: readonly string[]
}

export async function serverSecrets(settings: Settings, random: Random): Promise<ServerSecrets> {
  if (settings.adminToken === null && settings.database.kind === 'postgres') {
    throw new SettingsError([`${options.adminToken.env} is required with PostgreSQL`], {
      hint: 'Every machine on one database needs the same: openssl rand -base64 32',
    })
  }
  if (settings.database.kind === 'sqlite') await makeDataFolder(settings.dataDir)
  const made: MadeSecret[] = []
  const warnings: string[] = []
  const keep = async (name: string, label: string, prefix: string, setting: string) => {
    await makeDataFolder(settings.dataDir)
    const make = (): string => `${prefix}${makeSecret(random)}`
    const kept = await keepSecret({ folder: settings.dataDir, name, make, random, setting })
    note(kept, label)
    return kept.value
  }
  const note = (kept: KeptSecret, label: string): void => {
    if (kept.made) made.push({ label, value: kept.value, path: kept.path })
    if (kept.warning !== null) warnings.push(kept.warning)
  }
  const adminToken =
    settings.adminToken ??
    (await keep('admin-token', 'admin token', 'hfa_', options.adminToken.env))
  const given = settings.githubWebhookSecrets
  const webhookEnv = options.githubWebhookSecrets.env
  const webhookSecrets =
    given.length > 0 ? given : [await keep('webhook-secret', 'webhook secret', '', webhookEnv)]
  return { adminToken, webhookSecrets, made, warnings }
}

/** Only ours to read. A folder that is already there keeps the mode its owner chose. */
export async function makeDataFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new SetupError(
      'data_folder',
      `The data folder ${path} could not be made: ${(error as Error).message}`,
      {
        hint: `Make it for Holdfast's user, or choose another with ${options.dataDir.env}.`,
        cause: error,
      },
    )
  }
}
