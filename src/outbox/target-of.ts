/** A delivery as its channel sees it. */
import type { Target } from '../channel.ts'
import type { PlacedDelivery } from '../store/outbox-store.ts'

export function targetOf({
  delivery,
  repo,
  repoGithubId,
  ownRepositoryIds,
}: PlacedDelivery): Target {
  const { id, thread, sha, address, name, markerKey, providerId } = delivery
  return {
    deliveryId: id,
    repo,
    repoGithubId,
    ownRepositoryIds,
    thread,
    sha,
    address,
    name,
    markerKey,
    laterKeys: delivery.protocol.restored?.laterKeys ?? [],
    providerId,
  }
}
