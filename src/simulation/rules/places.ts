/** Where something is on the simulated GitHub, under the name it has there now. */
import type { DeliveryFact, Facts } from '../facts.ts'
import type { World } from '../world.ts'

export function repoOf(
  { repository_id: id }: Pick<DeliveryFact, 'repository_id'>,
  facts: Facts,
  world: World,
): string {
  const githubId = githubIdOf(id, facts)
  const known = world.repositories.find((repo) => repo.id === githubId)
  if (known !== undefined) return known.name
  // Nobody has told us yet whose name it is.
  for (const [name, repositoryId] of facts.names) if (repositoryId === id) return name
  return 'nobody/nothing'
}

export function githubIdOf(id: string, { repositories }: Facts): number | null {
  for (const [githubId, ourId] of repositories) if (ourId === id) return githubId
  return null
}

/** Also of one that gave its target up, because two names were one repository. */
export const targetOf = ({ id, target }: DeliveryFact): string =>
  target.replace(` (copy ${id})`, '')
