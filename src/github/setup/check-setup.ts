/**
 * For `doctor`: does GitHub answer, does it accept the credentials, are the permissions enough, and
 * do its webhooks arrive.
 *
 * What must hold: never rejects, and every finding that is not good says what a person can do.
 */
import { z } from 'zod'
import { fine, problem, warning, type Finding } from '../../domain/finding.ts'
import type { Ask } from '../ask.ts'
import { checkApp } from './check-app.ts'
import { checkToken } from './check-token.ts'
import { GitHubError, isGitHubError } from '../errors.ts'
import type { GitHubOptions } from '../create-github.ts'
import { couldNotCheck } from './setup-findings.ts'
import type { Transport } from '../transport.ts'

export interface Setup {
  readonly ask: Ask
  readonly isApp: boolean
  readonly transport: Transport
  readonly options: Pick<GitHubOptions, 'apiUrl' | 'publicUrl' | 'events' | 'runPermissions'>
}

const clockAheadMsMax = 60_000
/** Warns when less than this part of the hour's calls remains. */
const fewLeft = 0.1

const rateForm = z.object({
  resources: z.object({
    core: z.object({ limit: z.number(), remaining: z.number(), reset: z.number() }),
  }),
})

export async function checkSetup(setup: Setup): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  try {
    findings.push(...(await (setup.isApp ? checkApp(setup) : checkToken(setup))))
    if (!findings.some(preventsRateCheck)) findings.push(await checkRate(setup))
    findings.unshift(fine('github.api', `GitHub answers at ${displayUrl(setup.options.apiUrl)}`))
  } catch (error) {
    findings.push(unreachable(error, displayUrl(setup.options.apiUrl)))
  }
  return [...findings, ...checkClock(setup.transport)]
}

/** Without valid credentials or an installation, GitHub would not show our own limit. */
function preventsRateCheck({ check, level }: Finding): boolean {
  return level === 'problem' && ['github.credentials', 'github.installations'].includes(check)
}

async function checkRate({ ask }: Setup): Promise<Finding> {
  const check = 'github.rate_limit'
  try {
    const { limit, remaining, reset } = (await ask('account', rateForm, 'GET /rate_limit')).data
      .resources.core
    const left = `${remaining} of ${limit} calls left this hour.`
    if (remaining >= limit * fewLeft) return fine(check, left)
    const until = new Date(reset * 1000).toISOString()
    return warning(
      check,
      left,
      `All are back at ${until}. If this happens often, see what else uses these credentials.`,
    )
  } catch (error) {
    if (!(error instanceof GitHubError)) throw error
    // GitHub Enterprise answers 404 while limits are off.
    if (error.kind === 'not_found') return fine(check, 'This GitHub has no limits.')
    return couldNotCheck(check, error)
  }
}

function checkClock(transport: Transport): Finding[] {
  const aheadMs = transport.clockAheadMs()
  if (aheadMs === null) return []
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  if (Math.abs(aheadMs) <= clockAheadMsMax) {
    return [fine('github.clock', 'The clocks of this machine and GitHub agree within a minute.')]
  }
  const side = aheadMs > 0 ? 'behind' : 'ahead of'
  return [
    warning(
      'github.clock',
      `The clock of this machine is ${seconds} s ${side} GitHub's.`,
      'Let the machine set its clock by NTP (timedatectl set-ntp true).',
    ),
  ]
}

function unreachable(error: unknown, apiUrl: string): Finding {
  const check = 'github.api'
  if (isGitHubError(error, 'network')) {
    return problem(
      check,
      `No connection to ${apiUrl} (${error.failure ?? 'unknown'}).`,
      'Check GITHUB_API_URL, and that this machine reaches it: DNS, firewall, certificates.',
    )
  }
  if (isGitHubError(error, 'redirected')) {
    return problem(
      check,
      `${apiUrl} redirects to another address (${error.status ?? 'no status'}).`,
      'Set GITHUB_API_URL to the address of the API itself, such as https://HOST/api/v3.',
    )
  }
  if (error instanceof GitHubError) {
    if (error.kind === 'rate_limited') return couldNotCheck(check, error)
    return problem(
      check,
      error.message,
      `Try again. ${whereToLook(apiUrl)} The request id is ${error.requestId}.`,
    )
  }
  const name = error instanceof Error ? error.name : 'an error'
  return problem(check, `The check itself failed with ${name}.`, 'Please report it as a bug.')
}

function whereToLook(apiUrl: string): string {
  return new URL(apiUrl).hostname === 'api.github.com'
    ? 'If it persists, see https://www.githubstatus.com, and check proxies and firewalls.'
    : 'If it persists, check that GITHUB_API_URL is the API itself, and check proxies.'
}

function displayUrl(apiUrl: string): string {
  const { origin, pathname } = new URL(apiUrl)
  return `${origin}${pathname}`.replace(/\/+$/, '')
}
