/** Reviews and their inline comments, as GitHub writes them. */
import type { InlineComment, Review } from '../state/reviews.ts'
import type { World } from '../state/world.ts'
import { associationOf } from './association.ts'
import { nodeId, noReactions, type Json } from './json.ts'
import { repositoryUrl } from './repository-json.ts'
import { pullUrl, threadPage } from './thread-json.ts'
import { userJson } from './user-json.ts'

export function reviewJson(world: World, review: Review): Json {
  const { id, thread, author } = review
  const page = `${threadPage(thread)}#pullrequestreview-${id}`
  return {
    id,
    node_id: nodeId('PRR', id),
    user: userJson(author),
    body: review.body,
    state: review.state,
    html_url: page,
    pull_request_url: pullUrl(thread),
    author_association: associationOf(world, thread.repository, author),
    _links: { html: { href: page }, pull_request: { href: pullUrl(thread) } },
    ...(review.submittedAt !== null && { submitted_at: world.stamp(review.submittedAt) }),
    commit_id: review.commitId,
  }
}

export function inlineCommentJson(world: World, review: Review, comment: InlineComment): Json {
  const { thread, author } = review
  const url = `${repositoryUrl(thread.repository)}/pulls/comments/${comment.id}`
  const page = `${threadPage(thread)}#discussion_r${comment.id}`
  return {
    url,
    id: comment.id,
    node_id: nodeId('PRRC', comment.id),
    pull_request_review_id: review.id,
    diff_hunk: '@@ -1 +1 @@',
    path: comment.path,
    position: comment.position ?? 1,
    original_position: comment.position ?? 1,
    commit_id: review.commitId,
    original_commit_id: review.commitId,
    user: userJson(author),
    body: comment.body,
    created_at: world.stamp(comment.createdAt),
    updated_at: world.stamp(comment.createdAt),
    html_url: page,
    pull_request_url: pullUrl(thread),
    author_association: associationOf(world, thread.repository, author),
    _links: {
      self: { href: url },
      html: { href: page },
      pull_request: { href: pullUrl(thread) },
    },
    reactions: noReactions(url),
    ...(comment.line !== null && {
      line: comment.line,
      original_line: comment.line,
      start_line: comment.startLine,
      original_start_line: comment.startLine,
      start_side: comment.startLine === null ? null : comment.side,
      side: comment.side,
      subject_type: 'line',
    }),
  }
}
