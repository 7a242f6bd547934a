/**
 * What a server tells the person who starts it, in words and not as log lines. That the server is
 * ready is a separate line on standard output, because programs wait for it.
 */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OwnAccount } from '../../github.ts'
import type { MadeSecret, ServerSecrets } from '../../settings/data-folder/server-secrets.ts'
import { describeDatabase, maskUrl } from '../../settings/describe-settings.ts'
import { missingForLive } from '../../settings/missing-for-live.ts'
import { isLoopbackName } from '../../validation/text-fields.ts'
import { configFileNames } from '../../settings/config-file/config-file.ts'
import { options } from '../../settings/options/options.ts'
import type { RunTypeSettings, Settings } from '../../settings/settings.ts'

/** Empty when there is nothing to show. */
export function madeSecretsText(
  made: readonly MadeSecret[],
  columns: number | null = null,
): string {
  if (made.length === 0) return ''
  const rows = made.map(({ label, value, path }) => {
    return `  ${label.padEnd(15)} ${value}\n` + `  ${''.padEnd(15)} saved in ${path}\n`
  })
  const rule = `${'-'.repeat(Math.min(72, columns ?? 72))}\n`
  return `${rule}New secrets, shown only this once:\n\n${rows.join('\n')}${rule}`
}

export interface StartedNotice {
  readonly settings: Settings
  readonly secrets: Pick<ServerSecrets, 'adminTokenPath' | 'unshown' | 'warnings'>
  readonly version: string
  readonly url: string
  /** The working directory of whoever reads this. */
  readonly cwd: string
  /** Null when GitHub has not named our account yet. */
  readonly account: OwnAccount | 'refused' | null
  /** What is done about a restored database; null if it was not restored. */
  readonly restored: string | null
}

export function startedText(notice: StartedNotice): string {
  const { settings, secrets, version, url, restored } = notice
  const { adminTokenPath, unshown, warnings } = secrets
  const justShown = unshown.some(({ path }) => path === adminTokenPath)
  return [
    `Holdfast ${version}\n`,
    ...rows('mode', modeLines(notice)),
    ...rows('config file', [configFileWords(settings)]),
    ...rows('database', [describeDatabase(settings)]),
    ...(settings.queueUrl === null ? [] : rows('queue', [maskUrl(settings.queueUrl)])),
    ...(restored === null ? [] : rows('', [restored])),
    ...rows('API', [`${url}/docs`]),
    ...rows('webhooks', webhookLines(settings, url)),
    ...(justShown ? [] : rows('admin token', [adminTokenPlace(adminTokenPath)])),
    ...rows('run types', [runTypes(settings)]),
    ...rows('next', nextSteps(settings, notice.cwd)),
    ...[...warnings, ...plainHttpWarnings(settings)].map((warning) => `WARNING: ${warning}\n`),
  ].join('')
}

/** The same for a worker, which says the rest in its log. */
export function workerText({
  settings,
  version,
}: Pick<StartedNotice, 'settings' | 'version'>): string {
  return [`Holdfast ${version}\n`, ...rows('config file', [configFileWords(settings)])].join('')
}

/** A file in another folder is easily expected to be read. */
function configFileWords({ configFile }: Settings): string {
  return configFile ?? `none: the working directory has no ${configFileNames.join(' or ')}`
}

function plainHttpWarnings({ host }: Settings): readonly string[] {
  if (isLoopbackName(host)) return []
  return [
    `${options.host.env} is ${host}, so other machines can reach this server. It uses plain ` +
      'http, so others can read the tokens on the way. Put a proxy with TLS in front of it.',
  ]
}

function rows(label: string, lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => `  ${(at === 0 ? label : '').padEnd(15)} ${line}\n`)
}

function adminTokenPlace(path: string | null): string {
  return path === null ? `the value of ${options.adminToken.env}` : `in ${path}`
}

/** The address to enter on GitHub: only one that GitHub can reach. */
function webhookLines({ mode, publicUrl }: Settings, url: string): readonly string[] {
  if (mode === 'sandbox') return [`${url}/webhooks/github`]
  if (publicUrl !== null && !isLoopback(publicUrl)) return [`${publicUrl}/webhooks/github`]
  const why = publicUrl === null ? 'is not set' : 'leads to this machine only'
  return [
    `${options.publicUrl.env} ${why}, so GitHub cannot send webhooks here.`,
    'Set it to an address of this server that GitHub can reach.',
  ]
}

function isLoopback(address: string): boolean {
  const { hostname } = new URL(address)
  return hostname === '0.0.0.0' || isLoopbackName(hostname)
}

function runTypes({ runs }: Settings): string {
  const names = Object.keys(runs)
  return names.length === 0
    ? 'none: webhooks start nothing, only claims over HTTP do'
    : names.map((name) => (listens(runs[name]) ? name : `${name} (claims only)`)).join(', ')
}

const listens = (type: RunTypeSettings | undefined): boolean =>
  Object.keys({ ...type?.on, ...type?.rerunOn }).length > 0

function nextSteps({ mode, runs, work }: Settings, cwd: string): readonly string[] {
  const types = Object.values(runs)
  const workers = pagePath('docs/guides/workers.md', cwd)
  // This process does the work of all other types, unless it was told not to.
  const needsWorker = types.length === 0 || types.some(({ run }) => run === 'remote')
  const worker = needsWorker
    ? [`Start a worker that does the work: ${workers}`]
    : work
      ? []
      : ['Start a process that does the work: npx holdfast worker']
  if (mode === 'live') return ['Check that GitHub is set up right: npx holdfast doctor', ...worker]
  return types.some(listens)
    ? [`Send a test webhook: "Five minutes with curl" in ${pagePath('README.md', cwd)}`, ...worker]
    : [`Claim a first run: ${needsWorker ? workers : pagePath('docs/guides/executing.md', cwd)}`]
}

/** The path of a page of this package: from `cwd`, if the package is in that folder. */
function pagePath(page: string, cwd: string): string {
  const path = fileURLToPath(new URL(`../../../${page}`, import.meta.url))
  const fromHere = relative(cwd, path)
  return fromHere.startsWith('..') ? path : fromHere
}

function modeLines({ settings, account }: StartedNotice): readonly string[] {
  if (settings.mode === 'live') return liveLines(settings, account)
  const missing =
    credentialsOf(settings) === null
      ? 'no GitHub credentials are set'
      : `${options.githubWebhookSecrets.env} is not set`
  return [
    'sandbox: GitHub is simulated, and nothing leaves this machine.',
    `Reason: ${missing}.`,
    `To use the real GitHub, set ${missingForLive(settings)}, and start with a new database: ` +
      'this one stays a sandbox.',
  ]
}

/** Which credentials are set; null when none are. */
function credentialsOf({ githubToken, githubAppId }: Settings): string | null {
  if (githubAppId !== null) return `${options.githubAppId.env} is`
  return githubToken === null ? null : `${options.githubToken.env} is`
}

/**
 * The warning before a new database is created as a sandbox although credentials are set; otherwise
 * null. A database keeps its mode, and a person who set credentials may have meant the real GitHub.
 */
export function permanentSandboxWarning(settings: Settings): string | null {
  const credentials = credentialsOf(settings)
  if (settings.mode === 'live' || credentials === null) return null
  const missing = options.githubWebhookSecrets.env
  return (
    `WARNING: ${credentials} set, but ${missing} is not, so GitHub is simulated (sandbox).\n` +
    `  The new database ${describeDatabase(settings)} stays a sandbox.\n` +
    `  To use the real GitHub instead: stop this, delete that database, set ${missing} to the ` +
    'secret of your webhook on GitHub, and start again.\n'
  )
}

function liveLines(
  { githubAppId }: Settings,
  account: StartedNotice['account'],
): readonly string[] {
  const credentials = githubAppId === null ? 'a token' : `App ${githubAppId}`
  if (account === 'refused') {
    return [
      `live, but GitHub rejects the credentials (${credentials}): nothing is published.`,
      'To see what is wrong with them: npx holdfast doctor',
    ]
  }
  if (account === null) {
    return [`live: publishes on GitHub with ${credentials}; GitHub has not named the account yet`]
  }
  const login = `${account.login}${account.kind === 'app' ? '[bot]' : ''}`
  return [`live: publishes on GitHub as ${login} (${credentials})`]
}
