/** Mutants of sending: leases, versions, doubt, the latest time to send. */
import type { LeasedDelivery, OutboxStore } from '../../../src/store/outbox-store.ts'
import type { Tamper } from '../../../src/simulation/node.ts'
import { replaceParts } from '../../../src/simulation/replace-parts.ts'
import type { Store } from '../../../src/store.ts'
import { withOutbox, type Mutants } from './mutant.ts'

export const sendingMutants: Mutants = {
  'no look before sending again': {
    seed: 5,
    mutation: { store: (store) => withOutbox(store, { lease: leaseWithoutDoubt(store) }) },
    rules: ['8', '8b'],
  },
  'no fence: the outcome of a lost lease counts': {
    seed: 54,
    mutation: {
      store: (store, tamper) => withOutbox(store, { endAttempt: endWithoutFence(store, tamper) }),
    },
    rules: ['2', '5', '7'],
  },
  'no version check: an attempt sends one version and is stored as another': {
    seed: 22,
    mutation: {
      store: (store) => withOutbox(store, { beginAttempt: beginForNewestVersion(store) }),
    },
    // Rule 8b when an output that was stored under the wrong version is created again.
    rules: ['5', '7', '8b'],
  },
  'a newer version that became due while the older was sent is closed with it': {
    seed: 2,
    mutation: {
      store: (store, tamper) => withOutbox(store, { endAttempt: endAllVersions(store, tamper) }),
    },
    rules: ['5', '7'],
  },
  'no limit on when a request may leave': {
    seed: 2,
    mutation: {
      github: (github) =>
        replaceParts(github, {
          call: (place, form, route, given) => github.call(place, form, route, given, Infinity),
        }),
    },
    rules: ['2b'],
  },
  'a later limit answer shortens a block': {
    seed: 25,
    mutation: { store: (store, tamper) => withOutbox(store, shortenedBlocks(store, tamper)) },
    rules: ['8c'],
  },
}

/** Forgets that an attempt got no answer. */
function leaseWithoutDoubt({ outbox }: Store): OutboxStore['lease'] {
  return async (limit) => (await outbox.lease(limit)).map(withoutDoubt)
}

function withoutDoubt(leased: LeasedDelivery): LeasedDelivery {
  const { doubt: _doubt, ...protocol } = leased.delivery.protocol
  return { ...leased, delivery: { ...leased.delivery, protocol } }
}

/** Believes an outcome that comes too late: what it sent counts as shown. */
function endWithoutFence(store: Store, tamper: Tamper): OutboxStore['endAttempt'] {
  const { outbox } = store
  return async (hold, report) => {
    const recorded = await outbox.endAttempt(hold, report)
    if (recorded === 'recorded' || report.end.what !== 'sent') return recorded
    const { id, versionFence, versionSeq } = report.attempt
    await tamper(`UPDATE delivery SET status = 'SENT', reason = NULL, wait = NULL, due_at = NULL,
      sent_fence = ${versionFence}, sent_seq = ${versionSeq}, rev = rev + 1
      WHERE id = '${hold.deliveryId}'`)
    await tamper(`INSERT INTO audit (at, type, actor, delivery_id, data)
      VALUES (${store.now()}, 'delivery.sent', 'publisher', '${hold.deliveryId}',
        '${JSON.stringify({ attempt_id: id })}')`)
    return 'recorded'
  }
}

function beginForNewestVersion({ outbox }: Store): OutboxStore['beginAttempt'] {
  return async (request) => {
    const delivery = await outbox.delivery(request.lease.deliveryId)
    const { versionFence, versionSeq } = delivery ?? request
    return await outbox.beginAttempt({ ...request, versionFence, versionSeq })
  }
}

function endAllVersions({ outbox }: Store, tamper: Tamper): OutboxStore['endAttempt'] {
  return async (hold, report) => {
    const recorded = await outbox.endAttempt(hold, report)
    if (recorded === 'recorded' && report.end.what === 'sent') {
      await tamper(`UPDATE delivery SET status = 'SENT', wait = NULL, due_at = NULL,
        closed_at = sent_at, rev = rev + 1
        WHERE id = '${hold.deliveryId}' AND status = 'PENDING'`)
    }
    return recorded
  }
}

function shortenedBlocks({ outbox }: Store, tamper: Tamper): Partial<OutboxStore> {
  const shorten = (identity: string, until: number): Promise<void> =>
    tamper(`UPDATE budget SET blocked_until = ${until}, rev = rev + 1
      WHERE identity = '${identity}'`)
  return {
    endAttempt: async (hold, report) => {
      const recorded = await outbox.endAttempt(hold, report)
      const { end, identity } = report
      if (end.what === 'rate_limited') await shorten(identity, end.until)
      return recorded
    },
    blockIdentity: async (identity, until, reason, actor) => {
      await outbox.blockIdentity(identity, until, reason, actor)
      await shorten(identity, until)
    },
  }
}
