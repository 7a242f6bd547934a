/**
 * Port: asks which commit is the head of a pull request. It is used only if the order of arrival
 * had to decide between two heads, and always outside a transaction.
 */

export interface PullRequestHead {
  readonly headSha: string
  readonly baseSha: string
  readonly state: 'open' | 'closed'
  /** The pull request's `updated_at`. At that time this was its head. */
  readonly updatedAt: number
  /** The last push to any branch of the head's repository. Null if GitHub does not say. */
  readonly pushedAt: number | null
}

/**
 * The last known name of a repository, and GitHub's id if it is known. If there is an id, only the
 * id is used, because another repository may have the name by now.
 */
export interface RepositoryRef {
  readonly repo: string
  readonly repoGithubId: number | null
}

export interface HeadSource {
  /** Returns null if the pull request does not exist. Rejects if GitHub cannot be asked now. */
  headOf(repository: RepositoryRef, pr: number): Promise<PullRequestHead | null>
}
