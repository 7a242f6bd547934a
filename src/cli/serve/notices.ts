/** What a server tells the person who starts it, in words rather than as log lines. */
import type { OwnAccount } from '../../github.ts'
import type { MadeSecret, ServerSecrets } from '../../settings/first-start.ts'
import { describeDatabase } from '../../settings/describe-settings.ts'
import { isLoopbackName } from '../../settings/loopback.ts'
import { options } from '../../settings/options.ts'
import type { RunTypeSettings, Settings } from '../../settings/settings.ts'

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
  /** Null when GitHub has not said who we are. */
  readonly account: OwnAccount | 'refused' | null
  /** What is done about a restored database; null when it is none. */
  readonly restored: string | null
}

export function startedText(notice: StartedNotice): string {
  const { settings, secrets, version, url, restored } = notice
  const { adminTokenPath, unshown, warnings } = secrets
  const justShown = unshown.some(({ path }) => path === adminTokenPath)
  return [
    `Holdfast ${version} is up.\n`,
    ...rows('API', [`${url}/docs`]),
    ...rows('webhooks', webhookLines(settings, url)),
    ...(justShown ? [] : rows('admin token', [adminTokenPlace(adminTokenPath)])),
    ...rows('store', [describeDatabase(settings)]),
    ...(restored === null ? [] : rows('', [restored])),
    ...rows('mode', modeLines(notice)),
    ...rows('run types', [runTypes(settings)]),
    ...rows('next', nextSteps(settings)),
    ...[...warnings, ...openDoorWarnings(settings)].map((warning) => `WARNING: ${warning}\n`),
  ].join('')
}

function openDoorWarnings({ host }: Settings): readonly string[] {
  if (isLoopbackName(host)) return []
  return [
    `${options.host.env} is ${host}, so other machines reach this server, and it speaks plain ` +
      'http: tokens can be read on the way. Put a proxy with TLS before it.',
  ]
}

function rows(label: string, lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => `  ${(at === 0 ? label : '').padEnd(15)} ${line}\n`)
}

function adminTokenPlace(path: string | null): string {
  return path === null ? `as given by ${options.adminToken.env}` : `kept in ${path}`
}

/** What to give GitHub as the address of the webhook: only one that GitHub can reach. */
function webhookLines({ mode, publicUrl }: Settings, url: string): readonly string[] {
  if (mode === 'sandbox') return [`${url}/webhooks/github`]
  if (publicUrl !== null && !isLoopback(publicUrl)) return [`${publicUrl}/webhooks/github`]
  const why = publicUrl === null ? 'is not set' : 'leads to this machine only'
  return [
    `${options.publicUrl.env} ${why}, so GitHub has no address to send to.`,
    'Set it to the address under which GitHub reaches this server.',
  ]
}

function isLoopback(address: string): boolean {
  const { hostname } = new URL(address)
  return hostname === '0.0.0.0' || isLoopbackName(hostname)
}

function runTypes({ runs }: Settings): string {
  const names = Object.keys(runs)
  return names.length === 0
    ? 'none: only claims over HTTP start runs'
    : names.map((name) => (listens(runs[name]) ? name : `${name} (only by claims)`)).join(', ')
}

const listens = (type: RunTypeSettings | undefined): boolean =>
  Object.keys({ ...type?.on, ...type?.rerunOn }).length > 0

function nextSteps({ mode, runs }: Settings): readonly string[] {
  const worker = 'Start a worker that leases runs: docs/guides/workers.md'
  if (mode === 'live')
    return ['Check credentials, permissions and webhook: holdfast doctor', worker]
  return Object.values(runs).some(listens)
    ? ['Send a first webhook: README.md shows how', worker]
    : ['Claim a first run: README.md shows how']
}

function modeLines({ settings, account }: StartedNotice): readonly string[] {
  if (settings.mode === 'live') return liveLines(settings, account)
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

function liveLines(
  { githubAppId }: Settings,
  account: StartedNotice['account'],
): readonly string[] {
  const credentials = githubAppId === null ? 'a token' : `App ${githubAppId}`
  if (account === 'refused') {
    return [
      `live, but GitHub refuses the credentials (${credentials}): nothing is published.`,
      'What is wrong with them: holdfast doctor',
    ]
  }
  if (account === null) {
    return [
      `live: publishes on GitHub as the account of ${credentials}; GitHub has not named it yet`,
    ]
  }
  const login = `${account.login}${account.kind === 'app' ? '[bot]' : ''}`
  return [`live: publishes on GitHub as ${login} (${credentials})`]
}
