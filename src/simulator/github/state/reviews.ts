/** Reviews of a pull request, each with its inline comments. */
import { reviewJson } from '../json/review-json.ts'
import { pullJson } from '../json/thread-json.ts'
import { forbidden, Refusal } from '../refusal.ts'
import { bodyProblem } from './comments.ts'
import { emitEvent } from './events.ts'
import { pullOf, type Thread } from './threads.ts'
import type { User } from './users.ts'
import type { World } from './world.ts'

export type ReviewState = 'PENDING' | 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED'

export interface InlineComment {
  readonly id: number
  readonly path: string
  readonly body: string
  readonly line: number | null
  readonly startLine: number | null
  readonly side: 'LEFT' | 'RIGHT'
  readonly position: number | null
  readonly createdAt: number
}

export interface Review {
  readonly id: number
  readonly thread: Thread
  readonly author: User
  body: string
  readonly state: ReviewState
  commitId: string
  readonly submittedAt: number | null
  readonly createdAt: number
  readonly comments: readonly InlineComment[]
  /** Index of the request that created it. */
  readonly request: number | null
}

export interface NewReview {
  readonly body: string
  readonly state: ReviewState
  readonly commitId: string | null
  readonly comments: readonly Omit<InlineComment, 'id' | 'createdAt'>[]
}

export function addReview(world: World, thread: Thread, author: User, given: NewReview): Review {
  const pull = pullOf(thread)
  check(thread, author, given)
  const now = world.nowMs()
  const review: Review = {
    ...given,
    id: world.nextId(),
    thread,
    author,
    commitId: given.commitId ?? pull.headSha,
    submittedAt: given.state === 'PENDING' ? null : now,
    createdAt: now,
    comments: given.comments.map((each) => ({ ...each, id: world.nextId(), createdAt: now })),
    request: world.request,
  }
  pull.reviews.push(review)
  thread.updatedAt = now
  world.countChange()
  if (review.state !== 'PENDING') emitReviewEvent(world, review, author, 'submitted')
  return review
}

export function editReview(world: World, review: Review, sender: User, body: string): void {
  checkBody(body)
  const from = review.body
  review.body = body
  world.countChange()
  emitReviewEvent(world, review, sender, 'edited', { changes: { body: { from } } })
}

function check(thread: Thread, author: User, { body, state, comments }: NewReview): void {
  if (thread.locked) throw forbidden('Unable to create review because issue is locked.')
  const mayBeEmpty = state === 'APPROVED' || state === 'PENDING' || comments.length > 0
  if (body !== '' || !mayBeEmpty) checkBody(body)
  const isVerdict = state === 'APPROVED' || state === 'CHANGES_REQUESTED'
  if (isVerdict && thread.author.id === author.id) {
    const verb = state === 'APPROVED' ? 'approve' : 'request changes on'
    throw reviewRefusal(`Can not ${verb} your own pull request`)
  }
  const pending = pullOf(thread).reviews.some(
    (each) => each.state === 'PENDING' && each.author.id === author.id,
  )
  if (pending) throw reviewRefusal('User can only have one pending review per pull request')
}

function checkBody(body: string): void {
  const problem = bodyProblem(body)
  if (problem !== null) throw reviewRefusal(problem)
}

/** GitHub refuses a review with a sentence, while it names fields for a comment. */
const reviewRefusal = (sentence: string): Refusal =>
  new Refusal(422, { message: 'Unprocessable Entity', errors: [sentence] })

function emitReviewEvent(
  world: World,
  review: Review,
  sender: User,
  action: string,
  more: object = {},
): void {
  const { thread } = review
  emitEvent(world, thread.repository, sender, 'pull_request_review', action, () => ({
    review: reviewJson(world, review),
    pull_request: pullJson(world, thread, pullOf(thread)),
    ...more,
  }))
}
