/**
 * Shows tests what GitHub really has: read directly from the state, without lag, limits and faults.
 * Every result is a copy; times are by the simulator's clock.
 */
import { statusesOf, type Status, type StatusState } from './state/statuses.ts'
import type { CheckOutput, CheckRun, CheckStatus } from './state/check-runs.ts'
import { bodyOf, isLive, type Comment, type CommentVersion } from './state/comments.ts'
import { fullNameOf, repositoryNamed, type Repository } from './state/repositories.ts'
import type { InlineComment, Review, ReviewState } from './state/reviews.ts'
import { pullOf, threadNumbered, type Thread } from './state/threads.ts'
import type { World } from './state/world.ts'

export interface SimulatedRepository {
  readonly id: number
  readonly fullName: string
  readonly private: boolean
}

export interface SimulatedThread {
  readonly number: number
  readonly title: string
  readonly author: string
  readonly state: 'open' | 'closed'
  readonly locked: boolean
  /** Null for a plain issue, as is `baseSha`. */
  readonly headSha: string | null
  readonly baseSha: string | null
  readonly createdAt: number
}

export interface SimulatedComment {
  readonly id: number
  readonly author: string
  readonly authorId: number
  readonly body: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly deletedAt: number | null
  readonly deletedBy: string | null
  /** Every version of its text, oldest first. */
  readonly versions: readonly CommentVersion[]
}

export interface SimulatedStatus {
  readonly id: number
  readonly sha: string
  readonly state: StatusState
  readonly context: string
  readonly description: string | null
  readonly targetUrl: string | null
  readonly creator: string
  readonly createdAt: number
  readonly request: number | null
}

export interface SimulatedCheckRun {
  readonly id: number
  readonly headSha: string
  readonly name: string
  readonly externalId: string | null
  readonly detailsUrl: string | null
  readonly status: CheckStatus
  readonly conclusion: string | null
  readonly output: CheckOutput
  readonly annotations: number
  readonly createdAt: number
  readonly requests: readonly (number | null)[]
}

export interface SimulatedReview {
  readonly id: number
  readonly author: string
  readonly authorId: number
  readonly body: string
  readonly state: ReviewState
  readonly commitId: string
  readonly comments: readonly InlineComment[]
  readonly createdAt: number
  readonly request: number | null
}

export interface GitHubInspection {
  repository(repo: string): SimulatedRepository
  thread(repo: string, number: number): SimulatedThread
  /** Without deleted ones, oldest first. */
  comments(repo: string, number: number): SimulatedComment[]
  /** With deleted ones. */
  allComments(repo: string, number: number): SimulatedComment[]
  /** Oldest first; of one context or of all. */
  statuses(repo: string, sha: string, context?: string): SimulatedStatus[]
  latestStatus(repo: string, sha: string, context: string): SimulatedStatus | null
  /** In the order they were made. */
  checkRuns(repo: string, sha: string): SimulatedCheckRun[]
  labels(repo: string, number: number): string[]
  reviews(repo: string, number: number): SimulatedReview[]
}

export function createInspection(world: World): GitHubInspection {
  const repositoryAt = (repo: string): Repository => repositoryNamed(world, repo)
  const threadAt = (repo: string, number: number): Thread =>
    threadNumbered(repositoryAt(repo), number)
  const statuses = (repo: string, sha: string, context?: string): SimulatedStatus[] =>
    statusesOf(repositoryAt(repo), sha, context).map(toSimulatedStatus)
  return {
    repository: (repo) => toSimulatedRepository(repositoryAt(repo)),
    thread: (repo, number) => toSimulatedThread(threadAt(repo, number)),
    comments: (repo, number) =>
      threadAt(repo, number).comments.filter(isLive).map(toSimulatedComment),
    allComments: (repo, number) => threadAt(repo, number).comments.map(toSimulatedComment),
    statuses,
    latestStatus: (repo, sha, context) => statuses(repo, sha, context).at(-1) ?? null,
    checkRuns: (repo, sha) =>
      repositoryAt(repo)
        .checkRuns.filter((run) => run.headSha === sha)
        .map(toSimulatedCheckRun),
    labels: (repo, number) => threadAt(repo, number).labels.map(({ name }) => name),
    reviews: (repo, number) => pullOf(threadAt(repo, number)).reviews.map(toSimulatedReview),
  }
}

export const toSimulatedRepository = (repository: Repository): SimulatedRepository => ({
  id: repository.id,
  fullName: fullNameOf(repository),
  private: repository.private,
})

export const toSimulatedThread = (thread: Thread): SimulatedThread => ({
  number: thread.number,
  title: thread.title,
  author: thread.author.login,
  state: thread.state,
  locked: thread.locked,
  headSha: thread.pull?.headSha ?? null,
  baseSha: thread.pull?.baseSha ?? null,
  createdAt: thread.createdAt,
})

export const toSimulatedComment = (comment: Comment): SimulatedComment => ({
  id: comment.id,
  author: comment.author.login,
  authorId: comment.author.id,
  body: bodyOf(comment),
  createdAt: comment.createdAt,
  updatedAt: comment.updatedAt,
  deletedAt: comment.deletedAt,
  deletedBy: comment.deletedBy,
  versions: [...comment.versions],
})

const toSimulatedStatus = ({ creator, ...status }: Status): SimulatedStatus => ({
  ...status,
  creator: creator.login,
})

const toSimulatedCheckRun = (run: CheckRun): SimulatedCheckRun => ({
  id: run.id,
  headSha: run.headSha,
  name: run.name,
  externalId: run.externalId,
  detailsUrl: run.detailsUrl,
  status: run.status,
  conclusion: run.conclusion,
  output: run.output,
  annotations: run.annotations,
  createdAt: run.createdAt,
  requests: [...run.requests],
})

const toSimulatedReview = ({ author, thread: _thread, ...review }: Review): SimulatedReview => ({
  ...review,
  author: author.login,
  authorId: author.id,
})
