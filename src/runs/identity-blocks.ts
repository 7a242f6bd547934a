/**
 * Until when GitHub wants us to wait, for requests that are made for a run. The store keeps it, so
 * all nodes and the publisher know, and an operator can lift it.
 */
import type { Clock } from '../clock.ts'
import type { IdentityBlocks } from '../github.ts'
import type { Store, StorePart } from '../store.ts'

interface IdentityBlocksParts {
  readonly store: Pick<Store, 'now'> & StorePart<{ outbox: 'blockedUntil' | 'blockIdentity' }>
  readonly clock: Clock
}

export function createIdentityBlocks({ store, clock }: IdentityBlocksParts): IdentityBlocks {
  /** How far the store's clock is ahead of ours. */
  const aheadMs = (): number => store.now() - clock.wallMs()
  return {
    async blockedUntil(identity) {
      const until = await store.outbox.blockedUntil(identity)
      return until === null ? null : until - aheadMs()
    },
    async block(identity, until) {
      await store.outbox.blockIdentity(identity, until + aheadMs(), 'rate_limited', 'runs')
    },
  }
}
