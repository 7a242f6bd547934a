/** Stores the id and name of an event's repository. The id stays the same after a rename. */
import { isTooFarAhead } from '../runs/claim-request.ts'
import type { Store, StorePart } from '../store.ts'
import type { EventFacts } from './webhook-event.ts'

export async function learnRepository(
  store: StorePart<{ repositories: 'learn' }> & Pick<Store, 'now'>,
  { repo, repoId, nameAt }: EventFacts,
): Promise<void> {
  if (repo === null || repoId === null) return
  const isUsable = nameAt !== null && !isTooFarAhead(nameAt, store.now())
  await store.repositories.learn(repo, repoId, isUsable ? nameAt : null, 'github')
}
