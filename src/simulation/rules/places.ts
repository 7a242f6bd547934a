/** Finds where a delivery is on the simulated GitHub, under the repository's present name. */
import type { DeliveryFact, Facts } from '../facts.ts'
import type { World } from '../world.ts'

export function repoOf(
  { repository_id: id }: Pick<DeliveryFact, 'repository_id'>,
  facts: Facts,
  world: World,
): string {
  const githubId = githubIdOf(id, facts)
  const repository = world.repositories.find((repo) => repo.id === githubId)
  if (repository !== undefined) return repository.name
  // Holdfast does not know yet which repository has this name.
  for (const [name, repositoryId] of facts.names) if (repositoryId === id) return name
  return 'nobody/nothing'
}

export function githubIdOf(id: string, { repositories }: Facts): number | null {
  for (const [githubId, ourId] of repositories) if (ourId === id) return githubId
  return null
}

/** The original target, also of a delivery that lost it when two repository rows were merged. */
export const targetOf = ({ id, target }: DeliveryFact): string =>
  target.replace(` (copy ${id})`, '')
