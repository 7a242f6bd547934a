/** A comment of a conversation, as GitHub writes it. */
import { bodyOf, type Comment } from '../state/comments.ts'
import type { World } from '../state/world.ts'
import { appJson } from './app-json.ts'
import { associationOf } from './association.ts'
import { nodeId, noReactions, type Json } from './json.ts'
import { repositoryUrl } from './repository-json.ts'
import { issueUrl, threadPage } from './thread-json.ts'
import { userJson } from './user-json.ts'

export function commentJson(world: World, comment: Comment): Json {
  const { id, thread, author } = comment
  const url = `${repositoryUrl(thread.repository)}/issues/comments/${id}`
  return {
    url,
    html_url: `${threadPage(thread)}#issuecomment-${id}`,
    issue_url: issueUrl(thread),
    id,
    node_id: nodeId('IC', id),
    user: userJson(author),
    created_at: world.stamp(comment.createdAt),
    updated_at: world.stamp(comment.updatedAt),
    body: bodyOf(comment),
    author_association: associationOf(world, thread.repository, author),
    reactions: noReactions(url),
    performed_via_github_app:
      comment.viaApp && world.app !== null ? appJson(world, world.app) : null,
  }
}
