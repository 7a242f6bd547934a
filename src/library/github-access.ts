/**
 * The library's connection to GitHub. Only `ensureNotPublished` needs it, so the client is loaded
 * only if credentials are given.
 */
import { readFileSync } from 'node:fs'
import { SetupError } from '../errors.ts'
import type { GitHubConnection } from '../github.ts'
import type { Log } from '../log.ts'
import type { Machine } from '../open-store.ts'
import { didYouMeanOrAll } from '../validation/nearest.ts'
import { options, type OptionKey } from '../settings/options/options.ts'
import type { Settings } from '../settings/settings.ts'

/** Credentials: the token of an account, or a GitHub App. */
export type GitHubAccess =
  | { readonly token: string }
  | {
      readonly appId: string | number
      /** In PEM form. Line breaks may be written as `\n`. */
      readonly privateKey: string
    }

export async function openGitHubAccess(
  access: GitHubAccess,
  { githubApiUrl: apiUrl, publicUrl }: Settings,
  machine: Machine & { readonly log: Log },
): Promise<GitHubConnection> {
  const credentials = checkAccess(access)
  const { createGitHub } = await import('../github/create-github.ts')
  const { fetch } = globalThis
  const version = versionOfPackage()
  return createGitHub({ ...machine, apiUrl, publicUrl, fetch, version, events: [], credentials })
}

/** Errors do not show the values, because they are secrets or belong to one. */
function checkAccess(given: unknown) {
  const { token, appId, privateKey, ...others } = (given ?? {}) as Record<string, unknown>
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    const fields = ['token', 'appId', 'privateKey']
    const meant = didYouMeanOrAll(unknown, fields, 'Known fields')
    throw badAccess(`has the unknown field ${JSON.stringify(unknown)}. ${meant}`)
  }
  const isApp = appId !== undefined || privateKey !== undefined
  if (isApp === (token !== undefined)) {
    throw badAccess('needs either a token, or an appId with its privateKey')
  }
  if (!isApp) return { token: valueOf('githubToken', 'token', token) }
  return {
    appId: valueOf('githubAppId', 'appId', typeof appId === 'number' ? String(appId) : appId),
    privateKey: valueOf('githubPrivateKey', 'privateKey', privateKey),
  }
}

/** Checks a value like the server's setting for it. */
function valueOf(
  setting: OptionKey & ('githubToken' | 'githubAppId' | 'githubPrivateKey'),
  field: string,
  value: unknown,
): string {
  const { kind } = options[setting]
  const read = kind.fromConfig.safeParse(value)
  if (read.success) return read.data
  throw badAccess(`has an invalid ${field}: it must be ${kind.allowed}`)
}

function badAccess(what: string): SetupError {
  return new SetupError('github_access', `openHoldfast: github ${what}`, {
    hint: 'Pass { github: { token } } or { github: { appId, privateKey } }.',
  })
}

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}
