/**
 * The GitHub port over HTTP. Nothing is repeated here but a call whose credentials were refused and
 * one that went to a repository's old name, each once: when to ask again is the asker's decision.
 */
import { z } from 'zod'
import { SetupError } from '../errors.ts'
import type {
  GitHub,
  GitHubCalls,
  GitHubListings,
  OwnAccount,
  RepositoryRef,
  RoleAnswer,
} from '../github.ts'
import { roles } from '../domain/role.ts'
import type { AppKey } from './app-credentials.ts'
import { AppCredentials } from './app-credentials.ts'
import type { Ask } from './ask.ts'
import { createAsk } from './ask.ts'
import { checkSetup } from './check-setup.ts'
import type { Credentials } from './credentials.ts'
import { tokenCredentials } from './credentials.ts'
import { GitHubError, isGitHubError } from './errors.ts'
import { hookListings, pullListings } from './listings.ts'
import type { OnRenamed } from './repository-place.ts'
import { actorAtItsPlace, askAtItsPlace, repositoryForm } from './repository-place.ts'
import type { TransportOptions } from './transport.ts'
import { createTransport } from './transport.ts'

export interface GitHubOptions extends TransportOptions {
  readonly credentials: { readonly token: string } | AppKey
  /** Where people and webhooks reach us; null when nobody said. */
  readonly publicUrl: string | null
  /** The GitHub events that the configuration listens to. */
  readonly events: readonly string[]
  /** Told when a repository has another name than the one it was asked for under. */
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
/** `permission` knows three roles only, but also what a custom role amounts to. */
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
/** How far a store's clock may be ahead of ours. */
const futureMsMax = 5 * 60_000

export function createGitHub(options: GitHubOptions): GitHub & GitHubCalls & GitHubListings {
  const { clock, onRenamed } = options
  const transport = createTransport(options)
  const isApp = 'appId' in options.credentials
  const credentials =
    'appId' in options.credentials
      ? new AppCredentials(options.credentials, transport, clock)
      : tokenCredentials(sendable(options.credentials.token))
  const ask = createAsk(transport.send, credentials)
  return {
    headOf: (repository, pr) => look(ask, repository, pr),
    roleOf: (repository, login) => roleOf(ask, repository, login),
    ownAccount: () => (isApp ? appAccount(ask, credentials) : userAccount(ask)),
    checkSetup: () => checkSetup({ ask, isApp, transport, options }),
    ...hookListings(ask, isApp),
    ...pullListings(ask, onRenamed),
    call: (repository, form, route, parameters, sendBy) => {
      const inTime: Ask = (actor, asked, path, given) => ask(actor, asked, path, given, sendBy)
      return askAtItsPlace(
        inTime,
        repository,
        (at) => inTime(at.actor, form, at.route(route), { ...parameters, ...at.parameters }),
        onRenamed,
      )
    },
    repositoryNamed: (repo) => repositoryNamed(ask, repo),
    ownIdentity:
      'appId' in options.credentials ? `github:app:${options.credentials.appId}` : 'github:user',
    identityOf: (repository) => actorAtItsPlace(repository, (actor) => credentials.identity(actor)),
    githubTimeOf: (ourMs) => {
      const aheadMs = transport.clockAheadMs()
      const isKnown = aheadMs !== null && ourMs <= clock.wallMs() + futureMsMax
      return isKnown ? ourMs + aheadMs : null
    },
  }
}

async function repositoryNamed(ask: Ask, repo: string) {
  return await askAtItsPlace(ask, { repo, repoGithubId: null }, async (at) => {
    const route = at.route('GET /repos/{owner}/{repo}')
    const { data } = await ask(at.actor, repositoryForm, route, at.parameters)
    return { githubId: data.id, name: data.full_name }
  })
}

async function look(ask: Ask, repository: RepositoryRef, pr: number) {
  return await askAtItsPlace(ask, repository, async (at) => {
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
      // So GitHub answers, too, where we may not see the repository now: that says nothing of it.
      await ask(at.actor, repositoryForm, at.route('GET /repos/{owner}/{repo}'), at.parameters)
      return null
    }
  })
}

async function roleOf(ask: Ask, repository: RepositoryRef, login: string): Promise<RoleAnswer> {
  // Anything else would be another path; GitHub has nobody of such a name.
  if (!/^[\w-]{1,100}(\[bot\])?$/.test(login)) return 'no-such-user'
  try {
    return await askAtItsPlace(ask, repository, async (at) => {
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
 * Asked as one after the other, because it is the same for all: an installation that may not ask
 * now, or gets no answer, must not keep the others from writing. Null where nobody is told.
 */
async function userIdOf(
  ask: Ask,
  credentials: Credentials,
  username: string,
): Promise<number | null> {
  let passing: GitHubError | null = null
  for (const actor of await credentials.anybody()) {
    try {
      return (await ask(actor, userForm, 'GET /users/{username}', { username })).data.id
    } catch (error) {
      if (!(error instanceof GitHubError)) throw error
      if (error.kind === 'not_found' && actor !== 'nobody') return null
      if (!isGitHubError(error, 'network', 'unanswered', 'rate_limited')) continue
      if (passing === null || soonestOf(error) < soonestOf(passing)) passing = error
    }
  }
  if (passing !== null) throw passing
  return null
}

/** When it may be asked again; where nothing is said, that is for the asker to decide. */
function soonestOf({ kind, until }: GitHubError): number {
  return kind === 'rate_limited' ? (until ?? 0) : 0
}

/** A line's end in it would come back in the connection's own error, with all of the token. */
function sendable(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new SetupError('github_token', 'the GitHub token has characters that cannot be sent', {
    hint: 'Give it as one line without blanks, as GitHub showed it.',
  })
}
