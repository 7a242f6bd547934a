/** Whether an App's webhooks find us and can be trusted. */
import { z } from 'zod'
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import type { Setup } from './check-setup.ts'
import { GitHubError, isGitHubError } from './errors.ts'
import { unaskable, webhookAddress, webhookPath } from './setup-findings.ts'

const check = 'github.webhook'

const hookForm = z.object({
  url: z.string().nullish(),
  content_type: z.string().nullish(),
  /** Stars when there is one. */
  secret: z.string().nullish(),
  insecure_ssl: z.union([z.string(), z.number()]).nullish(),
})

type Hook = z.infer<typeof hookForm>

export async function checkAppHook({ ask, options }: Setup, place: string): Promise<Finding[]> {
  const settings = `${place} → General → Webhook`
  const address = webhookAddress(options.publicUrl)
  try {
    const hook = (await ask('app', hookForm, 'GET /app/hook/config')).data
    if (hook.url == null || hook.url === '') return [noHook(settings, address)]
    const findings = [
      ...checkAddress(hook.url, options.publicUrl, settings),
      ...checkContent(hook, settings),
    ]
    return findings.length > 0
      ? findings
      : [fine(check, `webhooks go to ${withoutQuery(hook.url)}`)]
  } catch (error) {
    if (isGitHubError(error, 'not_found')) return [noHook(settings, address)]
    if (error instanceof GitHubError) return [unaskable(check, error)]
    throw error
  }
}

function noHook(settings: string, address: string): Finding {
  const remedy = `${settings}: tick Active and set the Webhook URL to ${address}.`
  return problem(check, 'the App has no webhook address', remedy)
}

function checkAddress(url: string, publicUrl: string | null, settings: string): Finding[] {
  const shown = withoutQuery(url)
  const remedy = `${settings}: set the Webhook URL to ${webhookAddress(publicUrl)}.`
  if (publicUrl !== null && shown !== withoutQuery(webhookAddress(publicUrl))) {
    return [
      problem(
        check,
        `webhooks go to ${shown}, not to us`,
        `${remedy} Or correct HOLDFAST_PUBLIC_URL, if that is what is wrong.`,
      ),
    ]
  }
  if (shown.endsWith(webhookPath)) return []
  return [problem(check, `webhooks go to ${shown}, which does not end with ${webhookPath}`, remedy)]
}

function checkContent(hook: Hook, settings: string): Finding[] {
  const findings: Finding[] = []
  if (hook.content_type !== 'json') {
    const remedy = `${settings}: set the content type to application/json.`
    findings.push(problem(check, 'webhooks come as a form, not as JSON', remedy))
  }
  if (hook.secret == null || hook.secret === '') {
    const remedy = `${settings}: set the secret to that of GITHUB_WEBHOOK_SECRET.`
    findings.push(problem(check, 'webhooks are not signed, so all of them are refused', remedy))
  }
  if (hook.insecure_ssl != null && String(hook.insecure_ssl) !== '0') {
    const remedy = `${settings} → SSL verification: enable it.`
    findings.push(warning(check, 'GitHub does not verify the certificate it sends to', remedy))
  }
  return findings
}

/** Some put a secret into the query; case and a default port make no other address. */
function withoutQuery(url: string): string {
  if (!URL.canParse(url)) return 'an address that cannot be read'
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}
