/** A delivery as its channel sees it. */
import type { Target } from '../channel.ts'
import type { PlacedDelivery } from '../outbox-store.ts'

export function targetOf(
  { delivery, repo, ownRepositoryIds }: PlacedDelivery,
  repoGithubId: number,
): Target {
  const { id, thread, sha, name, markerKey, providerId } = delivery
  return {
    deliveryId: id,
    repo,
    repoGithubId,
    ownRepositoryIds,
    thread,
    sha,
    name,
    markerKey,
    laterKeys: delivery.protocol.restored?.laterKeys ?? [],
    providerId,
  }
}
