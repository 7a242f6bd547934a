/** Comments of issues and pull requests. */
import { commentJson } from '../json/comment-json.ts'
import { pageOf } from '../paging.ts'
import { forbidden } from '../refusal.ts'
import { addComment, deleteComment, editComment, isLive, type Comment } from '../state/comments.ts'
import { hasRole, roleOf } from '../state/repositories.ts'
import type { User } from '../state/users.ts'
import { fieldsOf, textField } from './fields.ts'
import { actorOf, commentOf, isListed, threadOf } from './resources.ts'
import type { Call, Route } from './route.ts'

const read = { permission: ['issues', 'pull_requests'], access: 'read' } as const
const write = { permission: ['issues', 'pull_requests'], access: 'write' } as const

export const commentRoutes: readonly Route[] = [
  {
    route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
    docs: 'issues/comments#list-issue-comments',
    handle: (call) => {
      const since = Date.parse(call.request.query.get('since') ?? '')
      // GitHub compares times in whole seconds.
      const isSince = ({ updatedAt }: Comment): boolean =>
        Number.isNaN(since) || Date.parse(call.world.stamp(updatedAt)) >= since
      const comments = threadOf(call, read)
        .comments.filter(isLive)
        .filter(({ createdAt }) => isListed(call, createdAt))
        .filter(isSince)
      const { items, headers } = pageOf(call.request, comments)
      return { status: 200, body: items.map((each) => commentJson(call.world, each)), headers }
    },
  },
  {
    route: 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments',
    docs: 'issues/comments#create-an-issue-comment',
    handle: (call) => {
      const thread = threadOf(call, write)
      const { user, viaApp } = actorOf(call)
      const body = textField(fieldsOf(call), 'body')
      const comment = addComment(call.world, thread, user, body, viaApp)
      const json = commentJson(call.world, comment)
      return { status: 201, body: json, headers: { location: String(json['url']) } }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/issues/comments/{comment_id}',
    docs: 'issues/comments#get-an-issue-comment',
    handle: (call) => ({ status: 200, body: commentJson(call.world, commentOf(call, read)) }),
  },
  {
    route: 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}',
    docs: 'issues/comments#update-an-issue-comment',
    handle: (call) => {
      const comment = commentOf(call, write)
      const { user } = actorOf(call)
      checkMayChange(call, comment, user)
      editComment(call.world, comment, user, textField(fieldsOf(call), 'body'))
      return { status: 200, body: commentJson(call.world, comment) }
    },
  },
  {
    route: 'DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}',
    docs: 'issues/comments#delete-an-issue-comment',
    handle: (call) => {
      const comment = commentOf(call, write)
      const { user } = actorOf(call)
      checkMayChange(call, comment, user)
      deleteComment(call.world, comment, user)
      return { status: 204 }
    },
  },
]

/** As on GitHub, everybody with write access may change any comment. */
function checkMayChange({ world, identity }: Call, { author, thread }: Comment, user: User): void {
  if (author.id === user.id || identity.kind === 'installation') return
  if (!hasRole(roleOf(world, thread.repository, user), 'write')) {
    throw forbidden('Must have admin rights to Repository.')
  }
}
