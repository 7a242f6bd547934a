/**
 * The GitHub port over HTTP. A call is repeated here in two cases only, once each: its credentials
 * were refused, or it used a repository's old name. In all other cases the caller decides when to
 * ask again.
 */
import { z } from 'zod'
import { SetupError } from '../errors.ts'
import type { GitHubConnection, OwnAccount, RepositoryRef, RoleAnswer } from '../github.ts'
import type { GitHubPermissions } from '../domain/github-permissions.ts'
import { roles } from '../domain/role.ts'
import type { AppKey } from './credentials/app-credentials.ts'
import { AppCredentials } from './credentials/app-credentials.ts'
import type { Ask } from './ask.ts'
import { createAsk } from './ask.ts'
import { checkSetup } from './setup/check-setup.ts'
import type { Credentials } from './credentials/credentials.ts'
import { tokenCredentials } from './credentials/credentials.ts'
import { GitHubError, isGitHubError } from './errors.ts'
import { hookListings, pullListings } from './listings.ts'
import { createRelay } from './relay.ts'
import type { OnRenamed } from './repository-place.ts'
import { asRepositoryActor, askInRepository, repositoryForm } from './repository-place.ts'
import type { TransportOptions } from './transport.ts'
import { createTransport } from './transport.ts'

export interface GitHubOptions extends TransportOptions {
  readonly credentials: { readonly token: string } | AppKey
  /** The address at which people and webhooks reach this server; null if it is not set. */
  readonly publicUrl: string | null
  /** The GitHub events that the configuration listens to. */
  readonly events: readonly string[]
  /** By run type, what the GitHub tokens of its runs may do. For `doctor`. */
  readonly runPermissions?: Readonly<Record<string, GitHubPermissions>>
  /** Called if a repository has another name than the one it was asked for by. */
  readonly onRenamed?: OnRenamed
}

const pullForm = z.object({
  head: z.object({
    sha: z.string().min(1),
    // Null when the fork was deleted.
    repo: z.object({ pushed_at: z.iso.datetime({ offset: true }).nullish() }).nullish(),
  }),
  base: z.object({ sha: z.string().min(1) }),
  state: z.enum(['open', 'closed']),
  updated_at: z.iso.datetime({ offset: true }),
})
/** `permission` has only three roles, but also says which of them a custom role equals. */
const roleForm = z
  .object({ permission: z.string(), role_name: z.string().optional() })
  .transform((answer, context) => {
    const known = [...roles, 'none'] as const
    const named = known.find((role) => role === answer.role_name)
    const role = named ?? known.find((each) => each === answer.permission)
    if (role !== undefined) return role
    context.issues.push({ code: 'custom', message: 'no role that we know', input: null })
    return z.NEVER
  })
const userForm = z.object({ login: z.string().min(1), id: z.number() })
const appForm = z.object({ slug: z.string().min(1), id: z.number() })
/** How far the clock of the store may be ahead of ours. */
const futureMsMax = 5 * 60_000

export function createGitHub(options: GitHubOptions): GitHubConnection {
  const { clock, onRenamed } = options
  const transport = createTransport(options)
  const isApp = 'appId' in options.credentials
  const credentials =
    'appId' in options.credentials
      ? new AppCredentials(options.credentials, transport, clock)
      : tokenCredentials(requireSendable(options.credentials.token))
  const ask = createAsk(transport.send, credentials)
  return {
    headOf: (repository, pr) => headOf(ask, repository, pr),
    roleOf: (repository, login) => roleOf(ask, repository, login),
    ownAccount: () => (isApp ? appAccount(ask, credentials) : userAccount(ask)),
    checkSetup: () => checkSetup({ ask, isApp, transport, options }),
    ...hookListings(ask, isApp),
    ...pullListings(ask, onRenamed),
    call: (repository, form, route, parameters, sendBy) => {
      const askInTime: Ask = (actor, asked, path, given) => ask(actor, asked, path, given, sendBy)
      return askInRepository(
        askInTime,
        repository,
        (at) => askInTime(at.actor, form, at.route(route), { ...parameters, ...at.parameters }),
        onRenamed,
      )
    },
    repositoryNamed: (repo) => repositoryNamed(ask, repo),
    ownIdentity:
      'appId' in options.credentials ? `github:app:${options.credentials.appId}` : 'github:user',
    identityOf: (repository) =>
      asRepositoryActor(repository, (actor) => credentials.identity(actor)),
    narrowedToken:
      credentials instanceof AppCredentials
        ? (repositoryId, permissions) => credentials.narrowedToken(repositoryId, permissions)
        : null,
    apiUrl: options.apiUrl.replace(/\/+$/, ''),
    send: createRelay(options, isApp ? null : credentials),
    githubTimeOf: (ourMs) => {
      const aheadMs = transport.clockAheadMs()
      const isKnown = aheadMs !== null && ourMs <= clock.wallMs() + futureMsMax
      return isKnown ? ourMs + aheadMs : null
    },
  }
}

async function repositoryNamed(ask: Ask, repo: string) {
  return await askInRepository(ask, { repo, repoGithubId: null }, async (at) => {
    const route = at.route('GET /repos/{owner}/{repo}')
    const { data } = await ask(at.actor, repositoryForm, route, at.parameters)
    return { githubId: data.id, name: data.full_name }
  })
}

async function headOf(ask: Ask, repository: RepositoryRef, pr: number) {
  return await askInRepository(ask, repository, async (at) => {
    const route = at.route('GET /repos/{owner}/{repo}/pulls/{pull_number}')
    try {
      const { data } = await ask(at.actor, pullForm, route, { ...at.parameters, pull_number: pr })
      const updatedAt = Date.parse(data.updated_at)
      const { head, base, state } = data
      const pushed = head.repo?.pushed_at ?? null
      const pushedAt = pushed === null ? null : Date.parse(pushed)
      return { headSha: head.sha, baseSha: base.sha, state, updatedAt, pushedAt }
    } catch (error) {
      if (!isGitHubError(error, 'not_found')) throw error
      // GitHub also answers 404 if we may not see the repository. Then this second call rejects.
      await ask(at.actor, repositoryForm, at.route('GET /repos/{owner}/{repo}'), at.parameters)
      return null
    }
  })
}

async function roleOf(ask: Ask, repository: RepositoryRef, login: string): Promise<RoleAnswer> {
  // Any other text would lead to another path, and GitHub has no such login.
  if (!/^[\w-]{1,100}(\[bot\])?$/.test(login)) return 'no-such-user'
  try {
    return await askInRepository(ask, repository, async (at) => {
      const route = at.route('GET /repos/{owner}/{repo}/collaborators/{username}/permission')
      const parameters = { ...at.parameters, username: login }
      try {
        return (await ask(at.actor, roleForm, route, parameters)).data
      } catch (error) {
        if (isGitHubError(error, 'not_found')) return 'no-such-user'
        throw error
      }
    })
  } catch (error) {
    if (isGitHubError(error, 'unauthorized', 'forbidden', 'not_found', 'not_installed')) {
      return 'cannot-ask'
    }
    throw error
  }
}

async function userAccount(ask: Ask): Promise<OwnAccount | null> {
  try {
    const { login, id } = (await ask('account', userForm, 'GET /user')).data
    return { login, id, appId: null, kind: 'user' }
  } catch (error) {
    if (isGitHubError(error, 'unauthorized', 'forbidden')) return null
    throw error
  }
}

async function appAccount(ask: Ask, credentials: Credentials): Promise<OwnAccount | null> {
  let app: z.infer<typeof appForm>
  try {
    app = (await ask('app', appForm, 'GET /app')).data
  } catch (error) {
    // 404 is GitHub's answer to the id of an App that does not exist.
    if (isGitHubError(error, 'unauthorized', 'forbidden', 'not_found')) return null
    throw error
  }
  const { slug, id: appId } = app
  return { login: slug, id: await userIdOf(ask, credentials, `${slug}[bot]`), appId, kind: 'app' }
}

/**
 * Asks as one actor after the other, because the id is the same for all. An installation that is
 * limited or gets no answer must not stop the others. Returns null if GitHub refuses all of them.
 */
async function userIdOf(
  ask: Ask,
  credentials: Credentials,
  username: string,
): Promise<number | null> {
  let temporaryError: GitHubError | null = null
  for (const actor of await credentials.publicReaders()) {
    try {
      return (await ask(actor, userForm, 'GET /users/{username}', { username })).data.id
    } catch (error) {
      if (!(error instanceof GitHubError)) throw error
      if (error.kind === 'not_found' && actor !== 'nobody') return null
      if (!isGitHubError(error, 'network', 'unanswered', 'rate_limited')) continue
      if (temporaryError === null || retryAtOf(error) < retryAtOf(temporaryError))
        temporaryError = error
    }
  }
  if (temporaryError !== null) throw temporaryError
  return null
}

/** When GitHub may be asked again. If GitHub named no time, the caller decides. */
function retryAtOf({ kind, until }: GitHubError): number {
  return kind === 'rate_limited' ? (until ?? 0) : 0
}

/** With a line break in the token, the connection's error would contain the whole token. */
function requireSendable(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new SetupError('github_token', 'the GitHub token has characters that cannot be sent', {
    hint: 'Give it as one line without blanks, as GitHub showed it.',
  })
}
