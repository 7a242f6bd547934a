/** Reviews of a pull request. */
import type { Json } from '../json/json.ts'
import { inlineCommentJson, reviewJson } from '../json/review-json.ts'
import { pageOf } from '../paging.ts'
import { notSupplied } from '../refusal.ts'
import { addReview, editReview, type NewReview, type ReviewState } from '../state/reviews.ts'
import {
  choiceField,
  fieldsOf,
  listField,
  optionalNumber,
  optionalText,
  textField,
} from './fields.ts'
import { actorOf, isListed, pullThreadOf, reviewOf } from './resources.ts'
import type { Call, Route } from './route.ts'

const read = { permission: ['pull_requests'], access: 'read' } as const
const write = { permission: ['pull_requests'], access: 'write' } as const

const stateAfter = {
  APPROVE: 'APPROVED',
  REQUEST_CHANGES: 'CHANGES_REQUESTED',
  COMMENT: 'COMMENTED',
} as const satisfies Record<string, ReviewState>
const events = Object.keys(stateAfter) as (keyof typeof stateAfter)[]

export const reviewRoutes: readonly Route[] = [
  {
    route: 'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
    docs: 'pulls/reviews#list-reviews-for-a-pull-request',
    handle: (call) => {
      const reviews = pullThreadOf(call, read).pull.reviews.filter(({ createdAt }) =>
        isListed(call, createdAt),
      )
      const { items, headers } = pageOf(call.request, reviews)
      return { status: 200, body: items.map((each) => reviewJson(call.world, each)), headers }
    },
  },
  {
    route: 'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
    docs: 'pulls/reviews#create-a-review-for-a-pull-request',
    handle: (call) => {
      const thread = pullThreadOf(call, write)
      const review = addReview(call.world, thread, actorOf(call).user, newReviewOf(call))
      return { status: 200, body: reviewJson(call.world, review) }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}',
    docs: 'pulls/reviews#get-a-review-for-a-pull-request',
    handle: (call) => ({ status: 200, body: reviewJson(call.world, reviewOf(call, read)) }),
  },
  {
    route: 'PUT /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}',
    docs: 'pulls/reviews#update-a-review-for-a-pull-request',
    handle: (call) => {
      const review = reviewOf(call, write)
      editReview(call.world, review, actorOf(call).user, textField(fieldsOf(call), 'body'))
      return { status: 200, body: reviewJson(call.world, review) }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments',
    docs: 'pulls/reviews#list-comments-for-a-pull-request-review',
    handle: (call) => {
      const review = reviewOf(call, read)
      const { items, headers } = pageOf(call.request, review.comments)
      const body = items.map((each) => inlineCommentJson(call.world, review, each))
      return { status: 200, body, headers }
    },
  },
]

function newReviewOf(call: Call): NewReview {
  const fields = fieldsOf(call)
  const event = choiceField(fields, 'event', events)
  return {
    body: optionalText(fields, 'body') ?? '',
    state: event === null ? 'PENDING' : stateAfter[event],
    commitId: optionalText(fields, 'commit_id'),
    comments: listField(fields, 'comments').map(inlineCommentOf),
  }
}

function inlineCommentOf(fields: Json): NewReview['comments'][number] {
  const line = optionalNumber(fields, 'line')
  const position = optionalNumber(fields, 'position')
  if (line === null && position === null) throw notSupplied('position')
  return {
    path: textField(fields, 'path'),
    body: textField(fields, 'body'),
    line,
    position,
    startLine: optionalNumber(fields, 'start_line'),
    side: choiceField(fields, 'side', ['LEFT', 'RIGHT']) ?? 'RIGHT',
  }
}
