/**
 * Stores that GitHub redirected us from an old name of a repository to a new one. The old name is
 * stored first, as an alias. Otherwise the runs with the old name would belong to another
 * repository.
 */
import type { StorePart } from './store.ts'

export async function learnRename(
  store: StorePart<{ repositories: 'learn' }>,
  githubId: number,
  newName: string,
  nameUntilNow: string,
  actor: string,
): Promise<void> {
  await store.repositories.learn(nameUntilNow.toLowerCase(), githubId, null, actor)
  await store.repositories.learn(newName.toLowerCase(), githubId, 'now', actor)
}
