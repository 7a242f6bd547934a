/**
 * The token of one run's GitHub client. It is made at the first request, kept for this client alone
 * and replaced before it ends.
 */
import type { Clock } from '../clock.ts'
import type { GitHubPermissions } from '../domain/github-permissions.ts'
import type { GitHubCalls, GitHubTokens, NarrowedToken } from '../github.ts'
import { TimedCache } from './timed-cache.ts'

export interface RunTokenOptions {
  readonly connection: Pick<GitHubCalls, 'githubTimeOf'>
  readonly permissions: GitHubPermissions
  readonly clock: Clock
}

/** A token this close to its end is no longer used. */
const marginMs = 5 * 60_000
const onlyKey = 'token'

export class RunToken {
  readonly #options: RunTokenOptions
  /** Requests at the same time share one question. */
  readonly #kept: TimedCache<string>

  constructor(options: RunTokenOptions) {
    this.#options = options
    this.#kept = new TimedCache(options.clock)
  }

  async current(
    make: NonNullable<GitHubTokens['narrowedToken']>,
    repositoryId: number,
  ): Promise<string> {
    return await this.#kept.get(onlyKey, async () => {
      const made = await make(repositoryId, this.#options.permissions)
      return { value: made.token, keepMs: this.#leftMs(made) - marginMs }
    })
  }

  /** GitHub refused it. */
  forget(token: string): void {
    this.#kept.forget(onlyKey, token)
  }

  #leftMs({ expiresAt }: NarrowedToken): number {
    const { connection, clock } = this.#options
    const now = clock.wallMs()
    return expiresAt - (connection.githubTimeOf(now) ?? now)
  }
}
