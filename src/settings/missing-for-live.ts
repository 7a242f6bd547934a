/** What has to be set so that the real GitHub is used and not the sandbox. */
import { options } from './options/options.ts'
import type { Settings } from './settings.ts'

/** The names of the settings, in words. Empty if nothing is missing. */
export function missingForLive(settings: Settings): string {
  const { githubToken, githubAppId, githubPrivateKey, githubWebhookSecrets } = options
  const canAct = settings.githubToken !== null || settings.githubAppId !== null
  const knowsGitHub = settings.githubWebhookSecrets.length > 0
  const missing = [
    ...(canAct ? [] : [`${githubToken.env}, or ${githubAppId.env} with ${githubPrivateKey.env}`]),
    ...(knowsGitHub ? [] : [githubWebhookSecrets.env]),
  ]
  return missing.join(', and ')
}
