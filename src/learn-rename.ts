/**
 * GitHub redirected us from an old name to a new one: both are the same repository. The old name is
 * stored first, as an alias; otherwise the runs known by it would belong to another repository.
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
