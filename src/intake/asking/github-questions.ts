/**
 * What intake and claims ask GitHub: the head of a pull request, the role of a sender, which
 * repository has a name.
 *
 * What must hold: nothing is asked while GitHub wants our identity to wait. If GitHub sets a limit
 * here, the limit is stored for all processes, because GitHub may ban an integration that ignores
 * limits. If GitHub does not answer about one repository, questions about the others do not wait.
 * A question without an answer rejects with GitHubNotAsked, and its caller asks again later.
 */
import type { Clock } from '../../clock.ts'
import { isStoreAway } from '../../errors.ts'
import type { GitHub, GitHubCalls, RepositoryRef } from '../../github.ts'
import { GitHubError, isGitHubError } from '../../github/errors.ts'
import { QuestionLimits } from './question-limits.ts'
import type { OutboxStore } from '../../store/outbox-store.ts'
import type { Store } from '../../store.ts'

/** Used when GitHub names no time. */
const unnamedWaitMs = 60_000

/** GitHub was not asked, or gave no usable answer. What depends on the answer is decided later. */
export class GitHubNotAsked extends Error {
  /** By the store's clock; 0 when GitHub named no time. */
  readonly notBefore: number
  /**
   * GitHub's answer when it hides the repository from us; null when it did not answer. During an
   * outage GitHub may answer like this too, so it is asked a few more times.
   */
  readonly hidden: string | null

  constructor(cause: unknown, notBefore = 0) {
    const isHidden = isGitHubError(cause, 'not_found', 'not_installed', 'forbidden')
    super(isHidden ? hiddenText : 'GitHub could not be asked', { cause })
    this.name = 'GitHubNotAsked'
    this.notBefore = notBefore
    this.hidden = isHidden ? cause.message : null
  }
}

const hiddenText =
  'GitHub does not show us the repository; give the token or the GitHub App access to it'

export type AskedGitHub = Pick<GitHub, 'headOf' | 'roleOf'> &
  Pick<GitHubCalls, 'identityOf' | 'ownIdentity' | 'repositoryNamed'>

export interface GitHubQuestionsOptions {
  readonly github: AskedGitHub
  readonly store: Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'blockedUntil' | 'blockIdentity'>
  }
  readonly clock: Clock
}

export class GitHubQuestions implements Pick<GitHub, 'headOf' | 'roleOf'> {
  readonly #options: GitHubQuestionsOptions
  readonly #limits = new QuestionLimits()

  constructor(options: GitHubQuestionsOptions) {
    this.#options = options
  }

  headOf(repository: RepositoryRef, pr: number): ReturnType<GitHub['headOf']> {
    return this.#ask(repository, () => this.#options.github.headOf(repository, pr))
  }

  roleOf(repository: RepositoryRef, login: string): ReturnType<GitHub['roleOf']> {
    return this.#ask(repository, () => this.#options.github.roleOf(repository, login))
  }

  repositoryNamed(repo: string, unverifiedId: number): ReturnType<GitHubCalls['repositoryNamed']> {
    const place = { repo, repoGithubId: null }
    return this.#ask(place, () => this.#options.github.repositoryNamed(repo, unverifiedId))
  }

  /** Questions that still wait for their turn reject with Stopping. */
  stop(): void {
    this.#limits.stop()
  }

  #ask<T>(repository: RepositoryRef, question: () => Promise<T>): Promise<T> {
    const { repo, repoGithubId } = repository
    const key = String(repoGithubId ?? repo)
    return this.#limits.within(key, () => this.#askNow(repository, question))
  }

  async #askNow<T>(repository: RepositoryRef, question: () => Promise<T>): Promise<T> {
    const { ownIdentity } = this.#options.github
    // The question which identity we have there is asked as ourselves. So its limits are our own.
    let identity: string | null = ownIdentity
    try {
      await this.#checkNotBlocked(ownIdentity)
      identity = await this.#identityOf(repository)
      if (identity !== ownIdentity) await this.#checkNotBlocked(identity)
      return await question()
    } catch (error) {
      throw await this.#failure(error, identity)
    }
  }

  /** Null if we have no access. Then GitHub refuses the question too, and that is the answer. */
  async #identityOf(repository: RepositoryRef): Promise<string | null> {
    try {
      return await this.#options.github.identityOf(repository)
    } catch (error) {
      const kinds = ['unauthorized', 'forbidden', 'not_found', 'not_installed'] as const
      if (isGitHubError(error, ...kinds)) return null
      throw error
    }
  }

  async #checkNotBlocked(identity: string | null): Promise<void> {
    if (identity === null) return
    const until = await this.#options.store.outbox.blockedUntil(identity)
    if (until !== null)
      throw new GitHubNotAsked(new Error(`GitHub asks ${identity} to wait`), until)
  }

  async #failure(error: unknown, identity: string | null): Promise<unknown> {
    const isStoreError = isStoreAway(error)
    if (isStoreError || error instanceof GitHubNotAsked) return error
    if (!(error instanceof GitHubError)) return new GitHubNotAsked(error)
    const { store, clock } = this.#options
    const now = store.now()
    const until = error.until === null ? null : error.until - clock.wallMs() + now
    if (error.kind === 'rate_limited' && identity !== null) {
      const end = until ?? now + unnamedWaitMs
      await store.outbox.blockIdentity(identity, end, 'rate_limited', 'intake')
    }
    return new GitHubNotAsked(error, until ?? 0)
  }
}
