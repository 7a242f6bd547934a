/** Repositories, with everything that belongs to them, under every name they ever had. */
import { emitEvent } from './events.ts'
import type { CheckRun } from './check-runs.ts'
import type { Label } from './labels.ts'
import type { Status } from './statuses.ts'
import type { Thread } from './threads.ts'
import { userNamed, type User } from './users.ts'
import type { World } from './world.ts'

export type Role = 'admin' | 'maintain' | 'write' | 'triage' | 'read' | 'none'

export interface Repository {
  readonly id: number
  owner: User
  name: string
  readonly private: boolean
  readonly createdAt: number
  /** The last push to any of its branches. */
  pushedAt: number
  /** By lower-cased name. */
  readonly labels: Map<string, Label>
  readonly threads: Map<number, Thread>
  readonly statuses: Status[]
  readonly checkRuns: CheckRun[]
  /** By lower-cased login, where set. */
  readonly roles: Map<string, Role>
  /** When a commit can be seen, by its sha. */
  readonly commits: Map<string, number>
  /** The bot has lost its permission: GitHub answers as if the repository did not exist. */
  restricted: boolean
}

export interface NewRepository {
  readonly id?: number
  readonly private?: boolean
  readonly labels?: readonly string[]
}

export const fullNameOf = ({ owner, name }: Repository): string => `${owner.login}/${name}`

export function addRepository(world: World, fullName: string, options: NewRepository): Repository {
  const { owner, name } = partsOf(fullName)
  const takenId = world.names.get(fullName.toLowerCase())
  const namedRepository = takenId === undefined ? undefined : world.repositories.get(takenId)
  if (
    namedRepository !== undefined &&
    fullNameOf(namedRepository).toLowerCase() === fullName.toLowerCase()
  ) {
    throw new Error(`There is already a repository ${fullName}.`)
  }
  const repository: Repository = {
    id: options.id ?? world.nextId(),
    owner: userNamed(world, owner, 'Organization'),
    name,
    private: options.private ?? false,
    createdAt: world.nowMs(),
    pushedAt: world.nowMs(),
    labels: new Map(),
    threads: new Map(),
    statuses: [],
    checkRuns: [],
    roles: new Map(),
    commits: new Map(),
    restricted: false,
  }
  world.repositories.set(repository.id, repository)
  // A former name of another repository leads to this one from now on.
  world.names.set(fullName.toLowerCase(), repository.id)
  return repository
}

/** Null when no repository has or had that name. */
export function findRepository(
  world: World,
  fullName: string,
): { readonly repository: Repository; readonly isFormerName: boolean } | null {
  const id = world.names.get(fullName.toLowerCase())
  const repository = id === undefined ? undefined : world.repositories.get(id)
  if (repository === undefined) return null
  const isFormerName = fullNameOf(repository).toLowerCase() !== fullName.toLowerCase()
  return { repository, isFormerName }
}

/** For tests: also by a former name. */
export function repositoryNamed(world: World, fullName: string): Repository {
  const found = findRepository(world, fullName)
  if (found !== null) return found.repository
  throw new Error(`There is no repository ${fullName}. Add it with addRepository.`)
}

export function renameRepository(world: World, repository: Repository, newFullName: string): void {
  const { owner, name } = partsOf(newFullName)
  const from = repository.name
  repository.owner = userNamed(world, owner, 'Organization')
  repository.name = name
  world.names.set(newFullName.toLowerCase(), repository.id)
  world.countChange()
  emitEvent(world, repository, repository.owner, 'repository', 'renamed', () => ({
    changes: { repository: { name: { from } } },
  }))
}

const ranks: readonly Role[] = ['none', 'read', 'triage', 'write', 'maintain', 'admin']

export function roleOf(world: World, repository: Repository, user: User): Role {
  const givenRole = repository.roles.get(user.login.toLowerCase())
  if (givenRole !== undefined) return givenRole
  if (user.id === repository.owner.id) return 'admin'
  // A test that gives an account a token wants it to write.
  if (world.tokenHolders.has(user.id)) return 'write'
  return repository.private ? 'none' : 'read'
}

export const hasRole = (role: Role, least: Role): boolean =>
  ranks.indexOf(role) >= ranks.indexOf(least)

export function canSeeCommit(world: World, repository: Repository, sha: string): boolean {
  const visibleAt = repository.commits.get(sha)
  return visibleAt === undefined ? world.anyCommit : visibleAt <= world.nowMs()
}

/** A commit that was added with a later `visibleAt` stays hidden until then. */
export function addCommitIfNew(world: World, repository: Repository, sha: string): void {
  if (!repository.commits.has(sha)) repository.commits.set(sha, world.nowMs())
}

function partsOf(fullName: string): { owner: string; name: string } {
  const [, owner, name] = /^([\w.-]+)\/([\w.-]+)$/.exec(fullName) ?? []
  if (owner === undefined || name === undefined) {
    throw new Error(`A repository needs a name like owner/name, not "${fullName}".`)
  }
  return { owner, name }
}
