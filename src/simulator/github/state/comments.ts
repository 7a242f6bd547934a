/** Comments of a thread, with every version of their text: who wrote it, when, by which request. */
import { commentJson } from '../json/comment-json.ts'
import { issueJson } from '../json/thread-json.ts'
import { forbidden, invalid } from '../refusal.ts'
import { emitEvent } from './events.ts'
import type { Thread } from './threads.ts'
import type { User } from './users.ts'
import type { World } from './world.ts'

export interface CommentVersion {
  /** By the simulator's clock. */
  readonly at: number
  readonly by: string
  readonly body: string
  /** Index of the request that wrote it; null for a person on the website. */
  readonly request: number | null
}

export interface Comment {
  readonly id: number
  readonly thread: Thread
  readonly author: User
  readonly viaApp: boolean
  readonly createdAt: number
  updatedAt: number
  deletedAt: number | null
  deletedBy: string | null
  readonly versions: CommentVersion[]
}

const bodyCharactersMax = 65_536
const commentsMax = 2500

export const bodyOf = (comment: Comment): string => comment.versions.at(-1)?.body ?? ''

export const isLive = ({ deletedAt }: Comment): boolean => deletedAt === null

/** Why GitHub rejects a text, in its words; null for a valid one. */
export function bodyProblem(body: string): string | null {
  if (body.trim() === '') return "Body can't be blank"
  if (body.length <= bodyCharactersMax) return null
  return `Body is too long (maximum is ${bodyCharactersMax} characters)`
}

function checkBody(body: string): void {
  const message = bodyProblem(body)
  if (message === null) return
  throw invalid({ resource: 'IssueComment', code: 'unprocessable', field: 'data', message })
}

/** Throws GitHub's refusal before anything is changed. */
export function addComment(
  world: World,
  thread: Thread,
  author: User,
  body: string,
  viaApp = false,
): Comment {
  if (thread.locked) throw forbidden('Unable to create comment because issue is locked.')
  checkBody(body)
  if (thread.comments.filter(isLive).length >= commentsMax) {
    throw forbidden(`Commenting is disabled on issues with more than ${commentsMax} comments`)
  }
  const at = world.nowMs()
  const comment: Comment = {
    id: world.nextId(),
    thread,
    author,
    viaApp,
    createdAt: at,
    updatedAt: at,
    deletedAt: null,
    deletedBy: null,
    versions: [{ at, by: author.login, body, request: world.request }],
  }
  thread.comments.push(comment)
  thread.updatedAt = at
  world.comments.set(comment.id, comment)
  world.countChange()
  emitCommentEvent(world, comment, author, 'created')
  return comment
}

export function editComment(world: World, comment: Comment, editor: User, body: string): void {
  checkBody(body)
  const from = bodyOf(comment)
  const at = world.nowMs()
  comment.versions.push({ at, by: editor.login, body, request: world.request })
  comment.updatedAt = at
  world.countChange()
  emitCommentEvent(world, comment, editor, 'edited', { changes: { body: { from } } })
}

export function deleteComment(world: World, comment: Comment, by: User): void {
  comment.deletedAt = world.nowMs()
  comment.deletedBy = by.login
  world.countChange()
  emitCommentEvent(world, comment, by, 'deleted')
}

function emitCommentEvent(
  world: World,
  comment: Comment,
  sender: User,
  action: string,
  more: object = {},
): void {
  const { thread } = comment
  emitEvent(world, thread.repository, sender, 'issue_comment', action, () => ({
    issue: issueJson(world, thread),
    comment: commentJson(world, comment),
    ...more,
  }))
}
