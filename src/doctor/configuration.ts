/** Checks of the settings: the config file, the mode, the public address, the secrets. */
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import { secretLengthMin } from '../settings/options/option.ts'
import { missingAdminTokenHint } from '../settings/data-folder/server-secrets.ts'
import { configFileNames } from '../settings/config-file/config-file.ts'
import { options } from '../settings/options/options.ts'
import { missingForLive } from '../settings/missing-for-live.ts'
import type { Settings } from '../settings/settings.ts'
import type { SettingsError } from '../settings/settings-error.ts'

/** The findings if the settings could not be loaded: one for each problem. */
export function settingsProblems(error: SettingsError): readonly Finding[] {
  const remedy =
    error.hint ?? 'Correct it; docs/reference/settings.md lists the values of each setting.'
  return error.problems.map((text) => problem('configuration', text, remedy))
}

export function checkConfigFile({ configFile }: Settings): readonly Finding[] {
  const read =
    configFile === null
      ? `The working directory has no ${configFileNames.join(' or ')}: defaults are used.`
      : `The config file is ${configFile}`
  return [fine('configuration', read)]
}

export function checkMode(settings: Settings): readonly Finding[] {
  if (settings.mode === 'live') return [fine('mode', 'Live: the GitHub credentials are used.')]
  return [
    warning(
      'mode',
      'Sandbox: a simulated GitHub is used instead of the real one.',
      `To go live, set ${missingForLive(settings)}, and start on a new database.`,
    ),
  ]
}

export function checkPublicUrl({ publicUrl }: Settings): readonly Finding[] {
  if (publicUrl !== null)
    return [fine('public_url', `The public address of this server is ${publicUrl}`)]
  return [
    warning(
      'public_url',
      'No public address is set, so Holdfast cannot check where GitHub sends webhooks.',
      `Set ${options.publicUrl.env} to the address at which GitHub reaches this server.`,
    ),
  ]
}

/** The token that a first start makes is checked with the data folder. */
export function checkAdminToken({ adminToken, database, dataDir }: Settings): readonly Finding[] {
  const { env } = options.adminToken
  if (adminToken === null) {
    if (database.kind === 'sqlite') return []
    return [
      problem(
        'admin_token',
        `${env} is not set. With PostgreSQL a server does not start without it.`,
        `All servers of one database need the same token. ${missingAdminTokenHint(dataDir)}`,
      ),
    ]
  }
  return [givenSecret('admin_token', env, [adminToken])]
}

/** The secret that a first start makes in the sandbox is checked with the data folder. */
export function checkWebhookSecrets(settings: Settings): readonly Finding[] {
  const { githubWebhookSecrets: given } = settings
  const { env } = options.githubWebhookSecrets
  return given.length === 0 ? [] : [givenSecret('webhook_secret', env, given)]
}

function givenSecret(check: string, env: string, values: readonly string[]): Finding {
  if (values.every((value) => value.length >= secretLengthMin)) return fine(check, `${env} is set.`)
  return problem(
    check,
    `${env} has fewer than ${secretLengthMin} characters. A server does not start with it.`,
    'Make a longer one: openssl rand -base64 32',
  )
}
