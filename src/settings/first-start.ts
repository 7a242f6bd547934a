/**
 * The secrets a server cannot do without, given or made at its first start. On SQLite one machine
 * serves the store, so what is missing is made and kept in the data folder; on PostgreSQL several
 * machines share it and must be given the same admin token.
 */
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SetupError } from '../errors.ts'
import type { Random } from '../random.ts'
import { makeSecret } from '../secrets.ts'
import { unsafeDatabaseFile } from './database-file.ts'
import { keepSecret, markShown, type KeptSecret } from './kept-secret.ts'
import { makeFolder } from './make-folder.ts'
import { secretLengthMin } from './options/limits.ts'
import { options } from './options.ts'
import { secretFileNames } from './secret-files.ts'
import type { Settings } from './settings.ts'
import { SettingsError } from './settings-error.ts'

export interface MadeSecret {
  readonly label: string
  readonly value: string
  readonly path: string
}

export interface ServerSecrets {
  readonly adminToken: string
  /** Null when it was given by a setting. */
  readonly adminTokenPath: string | null
  readonly webhookSecrets: readonly string[]
  /** Made by this start, or by an earlier one that never came to show them. */
  readonly unshown: readonly MadeSecret[]
  readonly warnings: readonly string[]
  /** To be called once the unshown ones were shown; from then on they never are again. */
  markShown(): Promise<void>
}

export async function serverSecrets(settings: Settings, random: Random): Promise<ServerSecrets> {
  refuseWrongSecrets(settings)
  await makeDatabaseFolder(settings)
  const kept: (KeptSecret & { readonly label: string })[] = []
  const keep = async (name: string, label: string, prefix: string, setting: string) => {
    await makeDataFolder(settings.dataDir)
    const make = (): string => `${prefix}${makeSecret(random)}`
    const secret = await keepSecret({ folder: settings.dataDir, name, make, random, setting })
    kept.push({ ...secret, label })
    return secret
  }
  const adminEnv = options.adminToken.env
  const admin =
    settings.adminToken === null
      ? await keep(secretFileNames.admin, 'admin token', 'hfa_', adminEnv)
      : null
  const given = settings.githubWebhookSecrets
  const webhookEnv = options.githubWebhookSecrets.env
  const webhookSecrets =
    given.length > 0
      ? given
      : [(await keep(secretFileNames.webhook, 'webhook secret', 'hfw_', webhookEnv)).value]
  const unshown = kept.filter((secret) => secret.unshown)
  return {
    adminToken: settings.adminToken ?? String(admin?.value),
    adminTokenPath: admin?.path ?? null,
    webhookSecrets,
    unshown: unshown.map(({ label, value, path }) => ({ label, value, path })),
    warnings: kept.flatMap(({ warning }) => warning ?? []),
    async markShown() {
      for (const secret of unshown) await markShown(secret)
    },
  }
}

/** Also that of a database file elsewhere, so that opening it does not have to. */
export async function makeDatabaseFolder(settings: Settings): Promise<void> {
  const { database, dataDir } = settings
  if (database.kind !== 'sqlite') return
  await makeDataFolder(dataDir)
  if (database.path === ':memory:') return
  const folder = dirname(database.path)
  if (folder !== dataDir) {
    await orRefuse(folder, `the folder of the database, ${folder}`, options.databaseUrl.env)
  }
  const unsafe = await unsafeDatabaseFile(settings)
  if (unsafe !== null) throw new SetupError('database_file', unsafe.told, { hint: unsafe.remedy })
}

/** Only ours to read, also when it was there before: the database and secrets are in it. */
async function makeDataFolder(path: string): Promise<void> {
  await orRefuse(path, `the data folder ${path}`, options.dataDir.env)
  await refuseOpenFolder(path)
}

async function orRefuse(path: string, named: string, setting: string): Promise<void> {
  try {
    await makeFolder(path)
  } catch (error) {
    throw new SetupError('data_folder', `Could not make ${named}: ${(error as Error).message}`, {
      hint: `Give the user of Holdfast access there, or choose another place with ${setting}.`,
      cause: error,
    })
  }
}

async function refuseOpenFolder(path: string): Promise<void> {
  // Windows has no such modes and reports all folders as open to everybody.
  if (process.platform === 'win32') return
  const { mode } = await stat(path)
  if ((mode & 0o077) === 0) return
  throw new SetupError(
    'data_folder_open',
    `The data folder ${path} has mode 0${(mode & 0o777).toString(8)}, so other users of this ` +
      'machine can read it',
    { hint: `Run: chmod 700 ${path}. Replace its secrets if somebody may have read them.` },
  )
}

function refuseWrongSecrets({ adminToken, githubWebhookSecrets, database }: Settings): void {
  const isMissing = adminToken === null && database.kind === 'postgres'
  const isShort = (secret: string): boolean => secret.length < secretLengthMin
  const short = [
    ...(adminToken !== null && isShort(adminToken) ? [options.adminToken.env] : []),
    ...(githubWebhookSecrets.some(isShort) ? [options.githubWebhookSecrets.env] : []),
  ]
  const problems = [
    ...(isMissing ? [`${options.adminToken.env} is required with PostgreSQL, but not set`] : []),
    ...short.map(
      (name) => `${name} is shorter than ${secretLengthMin} characters, so it can be guessed`,
    ),
  ]
  if (problems.length === 0) return
  throw new SettingsError(problems, {
    hint: isMissing
      ? 'Make one, and set it on every machine: openssl rand -base64 32'
      : 'Make a longer one: openssl rand -base64 32',
  })
}
