/**
 * GitHub sent us from one name to another: both are the same repository. Its old name is told
 * first, or what we know by that name would be taken for somebody else's. It leads there,
 * but is not what the repository is called now.
 */
import type { Store } from './store.ts'

export async function learnRename(
  store: Pick<Store, 'learnRepository'>,
  githubId: number,
  newName: string,
  nameUntilNow: string,
  actor: string,
): Promise<void> {
  await store.learnRepository(nameUntilNow.toLowerCase(), githubId, null, actor)
  await store.learnRepository(newName.toLowerCase(), githubId, 'now', actor)
}
