/**
 * The secrets that a server needs: the admin token and the webhook secret.
 *
 * With SQLite one machine serves the store, so a missing secret is made at the first start and kept
 * in the data folder. With PostgreSQL several machines share the store, so all of them must be
 * given the same admin token.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../../random.ts'
import { makeSecret } from '../../secrets.ts'
import { secretLengthMin } from '../options/option.ts'
import { options } from '../options/options.ts'
import { SettingsError } from '../settings-error.ts'
import type { Settings } from '../settings.ts'
import { makeDatabaseFolder, makeDataFolder } from './folders.ts'
import { keepSecret, markShown, type KeptSecret } from './kept-secret.ts'

/** The names of the files beside the database. A backup of the database does not contain them. */
export const secretFileNames = { admin: 'admin-token', webhook: 'webhook-secret' } as const

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
  /** Made by this start, or by an earlier start that did not get to show them. */
  readonly unshown: readonly MadeSecret[]
  readonly warnings: readonly string[]
  /** Call this after the unshown secrets were shown. They are then never shown again. */
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

function refuseWrongSecrets(settings: Settings): void {
  const { adminToken, githubWebhookSecrets, database, dataDir } = settings
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
    hint: isMissing ? missingAdminTokenHint(dataDir) : 'Make a longer one: openssl rand -base64 32',
  })
}

/** After a move the token in use is still in the data folder, and its users need no new one. */
export function missingAdminTokenHint(dataDir: string): string {
  const path = join(dataDir, secretFileNames.admin)
  return existsSync(path)
    ? `The token in use is in a file. Set on every machine: ${options.adminToken.env}_FILE=${path}`
    : 'Make one, and set it on every machine: openssl rand -base64 32'
}

export function missingSecretFiles(settings: Settings): readonly string[] {
  return neededFiles(settings).filter((name) => !existsSync(join(settings.dataDir, name)))
}

/** The paths of the secret files, for the person who makes a backup. */
export function presentSecretFiles(settings: Settings): readonly string[] {
  const paths = Object.values(secretFileNames).map((name) => join(settings.dataDir, name))
  return paths.filter((path) => existsSync(path))
}

/** With PostgreSQL the admin token is always given by a setting. */
function neededFiles({ database, adminToken, githubWebhookSecrets }: Settings): readonly string[] {
  const isMade = adminToken === null && database.kind === 'sqlite'
  return [
    ...(isMade ? [secretFileNames.admin] : []),
    ...(githubWebhookSecrets.length === 0 ? [secretFileNames.webhook] : []),
  ]
}
