/**
 * Port: says which commit is the head of a pull request. Asked only when the order of arrival had
 * to decide between two heads, and always outside a transaction.
 */

export interface PullRequestHead {
  readonly headSha: string
  readonly baseSha: string
  readonly state: 'open' | 'closed'
  /** The pull request's `updated_at`: at that moment this was its head. */
  readonly updatedAt: number
  /** The last push to any branch of the head's repository; null where GitHub does not say. */
  readonly pushedAt: number | null
}

/**
 * The last known name of a repository, and GitHub's id if that is known. With an id only the id is
 * used: another repository may have the name by now.
 */
export interface RepositoryRef {
  readonly repo: string
  readonly repoGithubId: number | null
}

export interface HeadSource {
  /** Null when there is no such pull request; rejects when GitHub cannot be asked now. */
  headOf(repository: RepositoryRef, pr: number): Promise<PullRequestHead | null>
}
