/** How an author is related to a repository, in GitHub's words. */
import { hasRole, roleOf, type Repository } from '../state/repositories.ts'
import type { User } from '../state/users.ts'
import type { World } from '../state/world.ts'

export function associationOf(world: World, repository: Repository, user: User): string {
  if (user.id === repository.owner.id) return 'OWNER'
  if (user.type === 'Bot') return 'NONE'
  return hasRole(roleOf(world, repository, user), 'triage') ? 'COLLABORATOR' : 'NONE'
}
