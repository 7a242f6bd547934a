/** What a server tells the person who starts it, in words rather than as log lines. */
import type { MadeSecret } from '../settings/first-start.ts'
import { options } from '../settings/options.ts'
import type { Settings } from '../settings/settings.ts'

/** Empty when none was made. */
export function madeSecretsText(made: readonly MadeSecret[]): string {
  if (made.length === 0) return ''
  const rows = made.map(
    ({ label, value, path }) =>
      `  ${label.padEnd(15)} ${value}\n  ${''.padEnd(15)} kept in ${path}\n`,
  )
  const rule = `${'-'.repeat(72)}\n`
  return `${rule}Made at this first start and shown only now:\n\n${rows.join('\n')}${rule}`
}

/** Empty in live mode. */
export function sandboxText(settings: Settings): string {
  if (settings.mode === 'live') return ''
  const { githubToken, githubAppId, githubPrivateKey, githubWebhookSecrets } = options
  const canAct = settings.githubToken !== null || settings.githubAppId !== null
  const missing = canAct
    ? `${githubWebhookSecrets.env} was not given`
    : 'no GitHub credentials were given'
  return (
    `Sandbox mode: ${missing}, so nothing is published.\n` +
    `To go live set ${githubWebhookSecrets.env} and either ${githubToken.env}, or ` +
    `${githubAppId.env}\nwith ${githubPrivateKey.env}, and start on a new database: ` +
    'a store stays in the mode it began in.\n'
  )
}
