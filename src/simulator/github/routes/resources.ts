/**
 * Finds what a path names, if the sender may see it. As on GitHub, a missing permission is a 404,
 * and a former name of a repository redirects to its present address.
 */
import { forbidden, notFound, Refusal } from '../refusal.ts'
import type { CheckRun } from '../state/check-runs.ts'
import { includes } from '../state/apps.ts'
import { isLive, type Comment } from '../state/comments.ts'
import {
  findRepository,
  hasRole,
  roleOf,
  type Repository,
  type Role,
} from '../state/repositories.ts'
import type { Review } from '../state/reviews.ts'
import type { Pull, Thread } from '../state/threads.ts'
import type { User } from '../state/users.ts'
import type { Call } from './route.ts'

/** What a route requires: a permission of an App's token, or a role of an account. */
export interface RequiredAccess {
  readonly permission: readonly string[]
  readonly access: 'read' | 'write'
  /** The least role of an account. */
  readonly role?: Role
}

export function repositoryOf(call: Call, required: RequiredAccess): Repository {
  const { world, params } = call
  const found = findRepository(world, `${params['owner'] ?? ''}/${params['repo'] ?? ''}`)
  if (found === null || found.repository.restricted) throw notFound()
  checkAccess(call, found.repository, required)
  if (found.isFormerName) throw redirectTo(call, found.repository)
  return found.repository
}

function checkAccess(
  { world, identity }: Call,
  repository: Repository,
  required: RequiredAccess,
): void {
  const isOpen = !repository.private && required.access === 'read'
  switch (identity.kind) {
    case 'stranger':
      if (repository.private) throw notFound()
      if (!isOpen) throw new Refusal(401, { message: 'Requires authentication' })
      return
    case 'app':
      throw new Refusal(401, {
        message: 'A JSON web token could not be decoded',
      })
    case 'account': {
      const role = roleOf(world, repository, identity.user)
      if (!hasRole(role, 'read') && !isOpen) throw notFound()
      if (required.role !== undefined && !hasRole(role, required.role)) throw notFound()
      return
    }
    case 'installation': {
      const { installation, repositories, permissions } = identity.token
      const isReached =
        installation?.account.id === repository.owner.id &&
        (repositories === null || repositories.has(repository.id))
      if (!isReached && repository.private) throw notFound()
      const isGranted = required.permission.some((name) =>
        includes(permissions, name, required.access),
      )
      if (isOpen || (isReached && isGranted)) return
      throw forbidden('Resource not accessible by integration')
    }
  }
}

export function redirectTo({ request }: Call, { id }: Repository): Refusal {
  const subPath = request.path.replace(/^\/repos\/[^/]+\/[^/]+/, '')
  const query = request.query.size === 0 ? '' : `?${request.query.toString()}`
  const url = `${request.apiUrl}/repositories/${id}${subPath}${query}`
  return new Refusal(301, { message: 'Moved Permanently', url }, { location: url })
}

export function threadOf(call: Call, required: RequiredAccess, param = 'issue_number'): Thread {
  const thread = repositoryOf(call, required).threads.get(Number(call.params[param]))
  if (thread === undefined) throw notFound()
  return thread
}

export function pullThreadOf(
  call: Call,
  required: RequiredAccess,
): Thread & { readonly pull: Pull } {
  const thread = threadOf(call, required, 'pull_number')
  if (thread.pull === null) throw notFound()
  return thread as Thread & { readonly pull: Pull }
}

export function commentOf(call: Call, required: RequiredAccess): Comment {
  const repository = repositoryOf(call, required)
  const comment = call.world.comments.get(Number(call.params['comment_id']))
  if (comment === undefined || comment.thread.repository !== repository || !isLive(comment)) {
    throw notFound()
  }
  return comment
}

export function checkRunOf(call: Call, required: RequiredAccess): CheckRun {
  const repository = repositoryOf(call, required)
  const run = call.world.checkRuns.get(Number(call.params['check_run_id']))
  if (run === undefined || run.repository !== repository) throw notFound()
  return run
}

export function reviewOf(call: Call, required: RequiredAccess): Review {
  const { pull } = pullThreadOf(call, required)
  const review = pull.reviews.find(({ id }) => id === Number(call.params['review_id']))
  if (review === undefined) throw notFound()
  return review
}

/** For a write: who does it, and whether through the App. */
export function actorOf({ identity }: Call): { readonly user: User; readonly viaApp: boolean } {
  if (identity.kind === 'app' || identity.kind === 'stranger') {
    throw new Refusal(401, { message: 'Requires authentication' })
  }
  return { user: identity.user, viaApp: identity.kind === 'installation' }
}

/** Whether lists already show what was created at that time. */
export const isListed = ({ world, lagMs }: Call, createdAt: number): boolean =>
  createdAt + lagMs <= world.nowMs()
