/**
 * GitHub sent us from one name to another: both are the same repository. Its old name is told
 * first, or what we know by that name would be taken for somebody else's. It leads there,
 * but is not what the repository is called now.
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
