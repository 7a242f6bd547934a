/** Checks a token: whose it is and what it may do. The webhooks of a token cannot be checked. */
import { z } from 'zod'
import { fine, problem, warning, type Finding } from '../../domain/finding.ts'
import type { Reply } from '../../github.ts'
import type { Setup } from './check-setup.ts'
import { isGitHubError } from '../errors.ts'
import { accessLabel, settingLabel, neededPermissions, webhookAddress } from './setup-findings.ts'

const userForm = z.object({ login: z.string(), id: z.number() })

const newToken = 'On GitHub: your picture → Settings → Developer settings → Personal access tokens'

/** Rejects when GitHub cannot be asked at all. */
export async function checkToken({ ask, options }: Setup): Promise<Finding[]> {
  const check = 'github.credentials'
  let reply: Reply<z.infer<typeof userForm>>
  try {
    reply = await ask('account', userForm, 'GET /user')
  } catch (error) {
    if (isGitHubError(error, 'unauthorized')) {
      const remedy = `${newToken}: make a new one and set it as GITHUB_TOKEN.`
      return [problem(check, 'GitHub refuses the token: it is wrong, expired or revoked.', remedy)]
    }
    if (isGitHubError(error, 'forbidden')) {
      const detail = 'GitHub accepts the token but does not say whose it is.'
      const remedy = `Use the token of a person or bot account, or an App. ${newToken}.`
      return [warning(check, detail, remedy), checkByHand(options)]
    }
    if (!isGitHubError(error, 'not_found', 'gone', 'invalid')) throw error
    const remedy =
      'Set GITHUB_API_URL to the address of the API itself, such as https://HOST/api/v3.'
    return [
      problem(
        check,
        'The server at GITHUB_API_URL does not know GET /user, as GitHub does.',
        remedy,
      ),
    ]
  }
  const { login, id } = reply.data
  return [
    fine(check, `GitHub accepts the token. It acts as ${login} (user ${id}).`),
    checkScopes(reply.headers['x-oauth-scopes']),
    checkByHand(options),
  ]
}

/** GitHub sends this header only for a classic token, even if the token has no scopes. */
function checkScopes(header: string | number | undefined): Finding {
  if (header === undefined) {
    const needs = neededPermissions
      // Check runs are for Apps alone.
      .filter(({ name }) => name !== 'checks')
      .map(({ label, access }) => `${label}: ${accessLabel[access]}`)
    return warning(
      'github.permissions',
      'GitHub does not say what a fine-grained token may do.',
      `${newToken} → Fine-grained tokens: check that it has ${needs.join(', ')}.`,
    )
  }
  const scopes = String(header).split(/\s*,\s*/)
  if (scopes.includes('repo')) return fine('github.scopes', 'The token has the scope repo.')
  if (scopes.includes('public_repo')) {
    return fine('github.scopes', 'The token has the scope public_repo: public repositories only.')
  }
  return problem(
    'github.scopes',
    'The token has neither the scope repo nor public_repo.',
    `${newToken} → Tokens (classic) → the token: tick repo, or public_repo for public ones only.`,
  )
}

function checkByHand({ publicUrl, events: names }: Setup['options']): Finding {
  if (names.length === 0) {
    return fine('github.webhook', 'No run type listens to events, so no webhook is needed.')
  }
  const events = names.map(settingLabel).join(', ')
  return warning(
    'github.webhook',
    'With a token, webhooks are set up by hand and cannot be checked from here.',
    `In each repository: Settings → Webhooks. Payload URL: ${webhookAddress(publicUrl)}; content ` +
      `type: application/json; secret: that of GITHUB_WEBHOOK_SECRET; events: ${events}.`,
  )
}
