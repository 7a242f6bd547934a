/** Whether an App's webhooks reach this server, are signed and are accepted. */
import { z } from 'zod'
import { fine, problem, warning, type Finding } from '../../domain/finding.ts'
import type { Setup } from './check-setup.ts'
import { GitHubError, isGitHubError } from '../errors.ts'
import { deliveryForm } from '../listings.ts'
import { couldNotCheck, webhookAddress, webhookPath } from './setup-findings.ts'

const check = 'github.webhook'
const deliveriesRead = 30

const hookForm = z.object({
  url: z.string().nullish(),
  content_type: z.string().nullish(),
  /** GitHub shows stars if a secret is set. */
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
      : [fine(check, `Webhooks go to ${withoutQuery(hook.url)}`)]
  } catch (error) {
    if (isGitHubError(error, 'not_found')) return [noHook(settings, address)]
    if (error instanceof GitHubError) return [couldNotCheck(check, error)]
    throw error
  }
}

/** Reads GitHub's record of sent webhooks, newest first: how the last ones were answered. */
export async function checkAppDeliveries({ ask }: Setup, place: string): Promise<Finding[]> {
  const name = 'github.deliveries'
  try {
    const form = z.array(deliveryForm)
    const route = 'GET /app/hook/deliveries'
    const { data } = await ask('app', form, route, { per_page: deliveriesRead })
    const [last] = data
    if (last === undefined) return [fine(name, 'GitHub has sent no webhook in the last 3 days.')]
    const accepted = data.findIndex(({ answered }) => isAccepted(answered))
    const failed = accepted === -1 ? data : data.slice(0, accepted)
    if (failed.length === 0) {
      const at = new Date(last.deliveredAt).toISOString()
      return [
        fine(name, `The last webhook was accepted (${last.answered ?? 'no status'}) at ${at}.`),
      ]
    }
    const many = failed.length < deliveriesRead ? `${failed.length}` : `${failed.length} or more`
    const which = failed.length === 1 ? 'The last webhook' : `The last ${many} webhooks`
    return [failedDeliveries(name, which, failed[0]?.answered ?? null, place)]
  } catch (error) {
    if (error instanceof GitHubError) return [couldNotCheck(name, error)]
    throw error
  }
}

/** A record without a status is no sign of a problem. */
const isAccepted = (answered: number | null): boolean =>
  answered === null || (answered >= 200 && answered < 300)

function failedDeliveries(
  name: string,
  which: string,
  answered: number | null,
  place: string,
): Finding {
  if (answered === 401) {
    return problem(
      name,
      `${which} from GitHub ended with 401: the signature is wrong.`,
      `${place} → General → Webhook: set the same secret as in GITHUB_WEBHOOK_SECRET. Then ` +
        'process what was refused: holdfast catchup',
    )
  }
  const ended =
    answered === 0 || answered === null ? 'could not be delivered' : `ended with ${answered}`
  return warning(
    name,
    `${which} from GitHub ${ended}.`,
    `See the answers: ${place} → Advanced → Recent deliveries. Is this server, or a proxy ` +
      'before it, reachable at the Webhook URL? Process what was missed: holdfast catchup',
  )
}

function noHook(settings: string, address: string): Finding {
  const remedy = `${settings}: tick Active and set the Webhook URL to ${address}.`
  return problem(check, 'The App has no webhook address.', remedy)
}

function checkAddress(url: string, publicUrl: string | null, settings: string): Finding[] {
  const address = withoutQuery(url)
  const remedy = `${settings}: set the Webhook URL to ${webhookAddress(publicUrl)}.`
  if (publicUrl !== null && address !== withoutQuery(webhookAddress(publicUrl))) {
    return [
      problem(
        check,
        `Webhooks go to ${address}, not to this server.`,
        `${remedy} Or correct HOLDFAST_PUBLIC_URL if that is wrong.`,
      ),
    ]
  }
  if (address.endsWith(webhookPath)) return []
  return [
    problem(check, `Webhooks go to ${address}, which does not end with ${webhookPath}.`, remedy),
  ]
}

function checkContent(hook: Hook, settings: string): Finding[] {
  const findings: Finding[] = []
  if (hook.content_type !== 'json') {
    const remedy = `${settings}: set the content type to application/json.`
    findings.push(problem(check, 'Webhooks are sent as a form, not as JSON.', remedy))
  }
  if (hook.secret == null || hook.secret === '') {
    const remedy = `${settings}: set the secret to that of GITHUB_WEBHOOK_SECRET.`
    findings.push(problem(check, 'Webhooks are not signed, so all are refused.', remedy))
  }
  if (hook.insecure_ssl != null && String(hook.insecure_ssl) !== '0') {
    const remedy = `${settings} → SSL verification: enable it.`
    findings.push(warning(check, 'GitHub does not verify the certificate of this server.', remedy))
  }
  return findings
}

/** Without the query, which may contain a secret; case and default port are normalised. */
function withoutQuery(url: string): string {
  if (!URL.canParse(url)) return 'an address that cannot be read'
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}
