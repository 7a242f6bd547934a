/**
 * Gives the holder of a run a token of GitHub: for the run's repository alone, with the permissions
 * of its type alone.
 *
 *   the run is held → GitHub makes a token → under the subject's lock: still held, audit → answer
 *
 * If the process dies before the audit row, nobody has the token, and it expires within an hour. If
 * the run is lost meanwhile, the token is dropped. If the answer is lost, the holder asks again.
 *
 * What must hold: a token is neither stored nor logged, and is kept in memory only for the holder
 * that it was made for. A holder that asks in a loop does not use up what GitHub allows the App.
 */
import type { Clock } from '../clock.ts'
import { permissionWords, type GitHubPermissions } from '../domain/github-permissions.ts'
import type { Run } from '../domain/run.ts'
import { ConflictError } from '../errors.ts'
import type { GitHubCalls, GitHubTokens, IdentityBlocks, NarrowedToken } from '../github.ts'
import { GitHubError, isGitHubError } from '../github/errors.ts'
import { TimedCache, type CachedValue } from '../github/timed-cache.ts'
import { limited, tokenProblem, type AskedToken } from '../github/token-problem.ts'
import { learnRename } from '../learn-rename.ts'
import type { LeaseHold, StorePart } from '../store.ts'

export interface GitHubTokenRequest extends LeaseHold {
  readonly actor: string
}

export type IssuedGitHubToken = NarrowedToken

export interface RunGitHubTokens {
  issue(request: GitHubTokenRequest): Promise<IssuedGitHubToken>
}

type AskedGitHub = GitHubTokens &
  Pick<GitHubCalls, 'identityOf' | 'ownIdentity' | 'repositoryNamed' | 'githubTimeOf'>

export interface RunGitHubTokensOptions {
  /** Null in the sandbox. */
  readonly github: AskedGitHub | null
  readonly store: StorePart<{
    runs: 'held' | 'noteGitHubToken'
    repositories: 'get' | 'learn' | 'nameKnowledge'
  }>
  readonly blocks: IdentityBlocks
  readonly permissionsOf: (type: string) => GitHubPermissions
  readonly clock: Clock
}

/** A token with less time than this is not handed out again. */
const handedOutAgainMs = 10 * 60_000
/** For this time GitHub is not asked again after it refused. */
const refusalKeptMs = 10_000

type Made = { readonly token: NarrowedToken } | { readonly refusal: ConflictError }

export function createRunGitHubTokens(options: RunGitHubTokensOptions): RunGitHubTokens {
  return new StoredRunGitHubTokens(options)
}

class StoredRunGitHubTokens implements RunGitHubTokens {
  readonly #options: RunGitHubTokensOptions
  /** By run, fence and permissions. */
  readonly #made: TimedCache<Made>

  constructor(options: RunGitHubTokensOptions) {
    this.#options = options
    this.#made = new TimedCache(options.clock)
  }

  async issue(request: GitHubTokenRequest): Promise<NarrowedToken> {
    const { github, store, permissionsOf } = this.#options
    const run = await store.runs.held(request)
    if (github === null) throw inSandbox()
    const { repo, type } = run
    if (repo === null) throw withoutRepository(run)
    const asked = { repo, type, permissions: permissionsOf(type) }
    const key = `${run.id} ${run.fence} ${permissionWords(asked.permissions)}`
    const made = await this.#made.get(key, () => this.#make(github, request, run, asked))
    if ('refusal' in made) throw made.refusal
    return made.token
  }

  async #make(
    github: AskedGitHub,
    request: GitHubTokenRequest,
    run: Run,
    asked: AskedToken,
  ): Promise<CachedValue<Made>> {
    const { store, clock } = this.#options
    const { narrowedToken } = github
    if (narrowedToken === null) throw notNarrowed()
    try {
      const repositoryId = await this.#repositoryIdOf(github, run, asked)
      const token = await this.#asInstallation(github, repositoryId, asked, () =>
        this.#asked(github.ownIdentity, asked, () =>
          narrowedToken(repositoryId, asked.permissions),
        ),
      )
      const { permissions, expiresAt, repository } = token
      const { githubId: repoGithubId, name: repo } = repository
      const note = { ...request, repo, repoGithubId, permissions, expiresAt }
      await store.runs.noteGitHubToken(note)
      const now = clock.wallMs()
      const leftMs = expiresAt - (github.githubTimeOf(now) ?? now)
      return { value: { token }, keepMs: leftMs - handedOutAgainMs }
    } catch (error) {
      const isRefusal = error instanceof ConflictError && error.code === 'github_refused'
      if (!isRefusal) throw error
      return { value: { refusal: error }, keepMs: refusalKeptMs }
    }
  }

  /**
   * GitHub's id of the run's repository. If only a name is known, or if only a caller gave the id,
   * GitHub is asked, as before the first write.
   */
  async #repositoryIdOf(
    github: AskedGitHub,
    { id, scope }: Run,
    asked: AskedToken,
  ): Promise<number> {
    const { store } = this.#options
    const { repo } = asked
    const known = (await store.repositories.get(scope))?.githubId ?? null
    if (known !== null && (await store.repositories.nameKnowledge(repo, known)) === 'known') {
      return known
    }
    const named = await this.#asInstallation(github, null, asked, () =>
      github.repositoryNamed(repo, known),
    )
    await learnRename(store, named.githubId, named.name, repo, 'github')
    if (known === null || known === named.githubId) return named.githubId
    throw wrongRepository(id, repo, known, named.githubId)
  }

  /** Whoever acts in the repository must not have to wait, also for a token that is used later. */
  async #asInstallation<T>(
    github: AskedGitHub,
    repoGithubId: number | null,
    asked: AskedToken,
    question: () => Promise<T>,
  ): Promise<T> {
    const place = { repo: asked.repo, repoGithubId }
    const identity = await this.#asked(github.ownIdentity, asked, () => github.identityOf(place))
    return await this.#asked(identity, asked, question)
  }

  /** Asks GitHub as this identity, unless GitHub wants it to wait. */
  async #asked<T>(identity: string, asked: AskedToken, question: () => Promise<T>): Promise<T> {
    const { blocks, clock } = this.#options
    const blockedUntil = await blocks.blockedUntil(identity)
    if (blockedUntil !== null) throw limited(blockedUntil - clock.wallMs())
    try {
      return await question()
    } catch (error) {
      if (!(error instanceof GitHubError)) throw error
      if (isGitHubError(error, 'rate_limited') && error.until !== null) {
        await blocks.block(identity, error.until)
      }
      throw tokenProblem(error, asked, clock.wallMs())
    }
  }
}

function inSandbox(): ConflictError {
  return new ConflictError(
    'github_token_unavailable',
    'This server is a sandbox: its GitHub is simulated, and a token for it would have no use.',
    { hint: 'Set GITHUB_APP_ID, GITHUB_PRIVATE_KEY and GITHUB_WEBHOOK_SECRET to use GitHub.' },
  )
}

function notNarrowed(): ConflictError {
  return new ConflictError(
    'github_token_unavailable',
    "This server uses an account's token (GITHUB_TOKEN), which cannot be narrowed to one " +
      'repository and the permissions of a run type.',
    { hint: 'Use a GitHub App: set GITHUB_APP_ID and GITHUB_PRIVATE_KEY.' },
  )
}

function withoutRepository({ id }: Run): ConflictError {
  return new ConflictError(
    'github_token_unavailable',
    `Run ${id} has no repository that a token could be for.`,
    { hint: 'Name the repository in the claim: "repo": "owner/name".' },
  )
}

function wrongRepository(
  runId: string,
  repo: string,
  given: number,
  githubId: number,
): ConflictError {
  return new ConflictError(
    'github_token_unavailable',
    `Run ${runId} was claimed for ${repo} with repo_id ${given}, but GitHub's id of ${repo} is ` +
      `${githubId}.`,
    { hint: 'Claim again with the right repo_id, or without one.' },
  )
}
