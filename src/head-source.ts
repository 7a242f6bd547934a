/**
 * Port: who says which head is the head. Asked only when arrival had to decide between two heads,
 * and always outside a transaction.
 */

export interface PullRequestHead {
  readonly headSha: string
  readonly baseSha: string
  readonly state: 'open' | 'closed'
  /** The pull request's `updated_at`: at that moment this head was the head. */
  readonly updatedAt: number
  /** The last push to any branch of the head's repository; null where GitHub does not say. */
  readonly pushedAt: number | null
}

/**
 * The name it was last heard under, and GitHub's id where that is known. With an id it is asked for
 * by that alone: another repository may have the name by now.
 */
export interface RepositoryRef {
  readonly repo: string
  readonly repoGithubId: number | null
}

export interface HeadSource {
  /** Null when there is no such pull request; rejects when it cannot be asked now. */
  headOf(repository: RepositoryRef, pr: number): Promise<PullRequestHead | null>
}
