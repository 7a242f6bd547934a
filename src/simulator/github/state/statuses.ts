/**
 * Commit statuses: all that were ever set. The newest one of a context counts. Upper and lower case
 * in contexts make no difference. A status cannot be deleted.
 */
import { commitJson } from '../json/commit-json.ts'
import { branchJson, statusJson } from '../json/status-json.ts'
import { invalid, unprocessable } from '../refusal.ts'
import { emitEvent } from './events.ts'
import { canSeeCommit, fullNameOf, type Repository } from './repositories.ts'
import type { User } from './users.ts'
import type { World } from './world.ts'

export const statusStates = ['error', 'failure', 'pending', 'success'] as const
export type StatusState = (typeof statusStates)[number]

export interface Status {
  readonly id: number
  readonly sha: string
  readonly state: StatusState
  readonly context: string
  readonly description: string | null
  readonly targetUrl: string | null
  readonly creator: User
  readonly createdAt: number
  /** Index of the request that set it. */
  readonly request: number | null
}

export type NewStatus = Pick<Status, 'sha' | 'state' | 'context' | 'description' | 'targetUrl'>

const perContextMax = 1000
const descriptionCharactersMax = 140

export function addStatus(
  world: World,
  repository: Repository,
  creator: User,
  given: NewStatus,
): Status {
  if (!canSeeCommit(world, repository, given.sha)) {
    throw unprocessable(`No commit found for SHA: ${given.sha}`)
  }
  if ((given.description?.length ?? 0) > descriptionCharactersMax) {
    const message = `description is too long (maximum is ${descriptionCharactersMax} characters)`
    throw invalid({ resource: 'Status', code: 'custom', field: 'description', message })
  }
  if (statusesOf(repository, given.sha, given.context).length >= perContextMax) {
    const message = 'This SHA and context has reached the maximum number of statuses.'
    throw invalid({ resource: 'Status', code: 'custom', message })
  }
  const status: Status = {
    ...given,
    id: world.nextId(),
    creator,
    createdAt: world.nowMs(),
    request: world.request,
  }
  repository.statuses.push(status)
  world.countChange()
  emitEvent(world, repository, creator, 'status', null, () => ({
    ...statusJson(world, repository, status),
    sha: status.sha,
    name: fullNameOf(repository),
    commit: commitJson(world, repository, status.sha),
    branches: branchJson(repository, status.sha),
  }))
  return status
}

/** Oldest first. */
export function statusesOf(repository: Repository, sha: string, context?: string): Status[] {
  return repository.statuses.filter(
    (status) =>
      status.sha === sha &&
      (context === undefined || status.context.toLowerCase() === context.toLowerCase()),
  )
}

/** The newest of each context. */
export function currentStatuses(statuses: readonly Status[]): Status[] {
  return [...new Map(statuses.map((each) => [each.context.toLowerCase(), each])).values()]
}
