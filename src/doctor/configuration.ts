/** Settings: what was read, whether it is live, and how people get in. */
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import { options, secretLengthMin } from '../settings/options.ts'
import type { Settings } from '../settings/settings.ts'
import type { SettingsError } from '../settings/settings-error.ts'

/** Settings that could not be loaded: each thing that is wrong is a finding of its own. */
export function settingsProblems(error: SettingsError): readonly Finding[] {
  const remedy = error.hint ?? 'Mend it; docs/reference/settings.md tells what each setting takes.'
  return error.problems.map((told) => problem('configuration', told, remedy))
}

export function checkConfigFile({ configFile }: Settings): readonly Finding[] {
  const told =
    configFile === null
      ? 'no config file: the settings have their defaults'
      : `${configFile} is read`
  return [fine('configuration', told)]
}

export function checkMode(settings: Settings): readonly Finding[] {
  if (settings.mode === 'live')
    return [fine('mode', 'live: GitHub is asked with the credentials given')]
  const { githubToken, githubAppId, githubPrivateKey, githubWebhookSecrets } = options
  const canAct = settings.githubToken !== null || settings.githubAppId !== null
  const knowsGitHub = settings.githubWebhookSecrets.length > 0
  const missing = [
    ...(canAct ? [] : [`${githubToken.env}, or ${githubAppId.env} with ${githubPrivateKey.env}`]),
    ...(knowsGitHub ? [] : [githubWebhookSecrets.env]),
  ]
  return [
    warning(
      'mode',
      'sandbox: a simulated GitHub inside stands in for the real one',
      `To go live set ${missing.join(', and ')}, and start on a new database.`,
    ),
  ]
}

export function checkPublicUrl({ publicUrl }: Settings): readonly Finding[] {
  if (publicUrl !== null) return [fine('public_url', `people reach this server at ${publicUrl}`)]
  return [
    warning(
      'public_url',
      'no public address is set, so it cannot be checked where GitHub sends webhooks to',
      `Set ${options.publicUrl.env} to the address under which GitHub reaches this server.`,
    ),
  ]
}

/** The file that a first start makes is looked at with the data folder. */
export function checkAdminToken({ adminToken, database }: Settings): readonly Finding[] {
  const { env } = options.adminToken
  if (adminToken === null) {
    if (database.kind === 'sqlite') return []
    return [
      problem(
        'admin_token',
        `${env} is not set, and on PostgreSQL a server does not start without it`,
        'Every machine on one database needs the same: openssl rand -base64 32',
      ),
    ]
  }
  return [givenSecret('admin_token', env, [adminToken])]
}

/** The one that a first start makes in the sandbox is looked at with the data folder. */
export function checkWebhookSecrets(settings: Settings): readonly Finding[] {
  const { githubWebhookSecrets: given } = settings
  const { env } = options.githubWebhookSecrets
  return given.length === 0 ? [] : [givenSecret('webhook_secret', env, given)]
}

function givenSecret(check: string, env: string, values: readonly string[]): Finding {
  if (values.every((value) => value.length >= secretLengthMin)) return fine(check, `${env} is set`)
  return problem(
    check,
    `${env} has fewer than ${secretLengthMin} characters, and a server does not start with it`,
    'Make a better one: openssl rand -base64 32',
  )
}

export function checkQueue(): readonly Finding[] {
  const told =
    'none (embedded engine): jobs are handed out from the database itself; no Redis is needed'
  return [fine('queue', told)]
}
