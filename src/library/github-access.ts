/**
 * The library's own way to GitHub. Only a program that asks what was published there needs one; the
 * client is loaded for nobody else.
 */
import { readFileSync } from 'node:fs'
import { SetupError } from '../errors.ts'
import type { GitHubConnection } from '../github.ts'
import type { Log } from '../log.ts'
import type { Machine } from '../open-store.ts'
import { didYouMeanOrAll } from '../validation/nearest.ts'
import { options, type OptionKey } from '../settings/options.ts'
import type { Settings } from '../settings/settings.ts'

/** What the program acts as on GitHub: an account's token, or a GitHub App. */
export type GitHubAccess =
  | { readonly token: string }
  | {
      readonly appId: string | number
      /** PEM; its lines may be parted by a written-out `\n`. */
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

/** What is wrong is told without the value: all of them are secret, or stand beside a secret. */
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

/** By the rule of the setting that a server reads the same value from. */
function valueOf(
  setting: OptionKey & ('githubToken' | 'githubAppId' | 'githubPrivateKey'),
  field: string,
  value: unknown,
): string {
  const { kind } = options[setting]
  const read = kind.fromConfig.safeParse(value)
  if (read.success) return read.data
  throw badAccess(`has a wrong ${field}: it must be ${kind.allowed}`)
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
