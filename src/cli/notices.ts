/** What a server tells the person who starts it, in words rather than as log lines. */
import type { MadeSecret, ServerSecrets } from '../settings/first-start.ts'
import { describeDatabase } from '../settings/describe-settings.ts'
import { options } from '../settings/options.ts'
import type { Settings } from '../settings/settings.ts'

/** Empty when there is nothing to show. */
export function madeSecretsText(made: readonly MadeSecret[]): string {
  if (made.length === 0) return ''
  const rows = made.map(({ label, value, path }) => {
    return `  ${label.padEnd(15)} ${value}\n` + `  ${''.padEnd(15)} kept in ${path}\n`
  })
  const rule = `${'-'.repeat(72)}\n`
  return `${rule}Made at this first start and shown only now:\n\n${rows.join('\n')}${rule}`
}

export interface StartedNotice {
  readonly settings: Settings
  readonly secrets: Pick<ServerSecrets, 'adminTokenPath' | 'unshown' | 'warnings'>
  readonly version: string
  readonly url: string
}

export function startedText({ settings, secrets, version, url }: StartedNotice): string {
  const row = (label: string, text: string): string => `  ${label.padEnd(15)} ${text}\n`
  const { adminTokenPath, unshown, warnings } = secrets
  const justShown = unshown.some(({ path }) => path === adminTokenPath)
  const token = justShown ? '' : row('admin token', adminTokenPlace(adminTokenPath))
  const [mode = '', ...more] = modeLines(settings)
  return [
    `Holdfast ${version} is up.\n`,
    row('API', `${url}/docs`),
    row('webhooks', webhookPlace(settings, url)),
    token,
    row('store', describeDatabase(settings)),
    row('mode', mode),
    ...more.map((line) => row('', line)),
    ...warnings.map((warning) => `WARNING: ${warning}\n`),
  ].join('')
}

function adminTokenPlace(path: string | null): string {
  return path === null ? `as given by ${options.adminToken.env}` : `kept in ${path}`
}

/** What to give GitHub as the address of the webhook. */
function webhookPlace({ publicUrl }: Settings, url: string): string {
  const place = `${publicUrl ?? url}/webhooks/github`
  return publicUrl === null ? `${place} (as GitHub reaches it)` : place
}

function modeLines(settings: Settings): readonly string[] {
  if (settings.mode === 'live') {
    return ['live, but this version publishes nothing to GitHub yet.']
  }
  const { githubToken, githubAppId, githubPrivateKey, githubWebhookSecrets } = options
  const canAct = settings.githubToken !== null || settings.githubAppId !== null
  const missing = canAct
    ? `${githubWebhookSecrets.env} was not given`
    : 'no GitHub credentials were given'
  return [
    `sandbox: ${missing}, so a simulated`,
    'GitHub inside stands in for it: nothing leaves this machine.',
    `To go live set ${githubWebhookSecrets.env} and either ${githubToken.env},`,
    `or ${githubAppId.env} with ${githubPrivateKey.env}, and start on a new`,
    'database: a store stays in the mode it began in.',
  ]
}
