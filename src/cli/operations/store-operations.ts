/**
 * The operations straight on the database, in the shapes a server would answer. What changes
 * something is audited as done by `cli`. A server beside us polls, so what we leave pending is
 * picked up without a bell.
 */
import { explain } from '../../audit/why.ts'
import type { Clock } from '../../clock.ts'
import { given, pageView } from '../../http/app.ts'
import { auditView } from '../../http/audit-view.ts'
import { inboxEntryOf, inboxView } from '../../http/inbox-view.ts'
import { claimedView, runPage, runView } from '../../http/run-view.ts'
import { newTokenOf, tokenView } from '../../http/token-view.ts'
import { whyView } from '../../http/why-view.ts'
import type { Log } from '../../log.ts'
import type { CheckIsOurs } from '../../outbox/is-ours.ts'
import type { Random } from '../../random.ts'
import { createRuns } from '../../runs/create-runs.ts'
import type { Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import { makeSecret, scopedToken } from '../../secrets.ts'
import { runPolicy } from '../../settings/run-policy.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Store } from '../../store.ts'
import { actor, deliveryOperations } from './delivery-operations.ts'
import type { AuditPage, AuditView, FollowRequest, Operations } from './operations.ts'

const pollMs = 500
const biteMax = 500

export interface StoreWorld {
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly log: Log
  /** Asks GitHub, as the settings say. */
  readonly checkIsOurs: CheckIsOurs
}

export function storeOperations(store: Store, settings: Settings, world: StoreWorld): Operations {
  const runs = createRuns({
    ...world,
    store,
    leaseMs: settings.leaseMs,
    policyOf: (type, kind) => runPolicy(settings, type, kind),
    headSource: null,
  })
  return {
    listRuns: async ({ repo, pr, state, type, key, head_sha: headSha, limit, cursor = null }) => {
      const filter = given({ repo, pr, state, type, key, headSha })
      return await runPage(store, await runs.list(filter, { limit, cursor }))
    },
    run: async (id) => runView(store, await runs.get(id)),
    rerunRun: async (id) => claimedView(store, await runs.rerun(id, actor)),
    cancelRun: async (id) => runView(store, await runs.cancel(id, actor)),

    listAudit: async (query) => {
      const { limit, cursor = null } = query
      return pageView(await store.audit.list(auditFilter(query), { limit, cursor }), auditView)
    },
    followAudit: (request) => followStore(store, world.scheduler, request),

    listInbox: async ({ webhook_id: webhookId, limit, cursor = null, ...rest }) => {
      const page = await store.inbox.list(given({ ...rest, webhookId }), { limit, cursor })
      return pageView(page, inboxView)
    },
    inboxEntry: (id) => inboxEntryOf(store, id),
    replayInboxEntry: async (id) => inboxView(await store.inbox.replay(id, actor, null)),

    ...deliveryOperations(store, settings, world.checkIsOurs),

    why: async (query) => whyView(await explain(store, query)),

    createToken: async (body) => {
      const secret = makeSecret(world.random)
      const made = await store.tokens.create({ ...newTokenOf(body), secret, actor }, null)
      return { id: made.token.id, token: scopedToken(made.token.id, made.secret) }
    },
    listTokens: async ({ limit, cursor = null }) =>
      pageView(await store.tokens.list({ limit, cursor }), tokenView),
    deleteToken: (id) => store.tokens.revoke(id, actor),

    close: () => store.close(),
  }
}

function auditFilter({ run: runId, delivery, type, since, until }: Partial<AuditPage>) {
  return given({ runId, deliveryId: delivery, type, since, until })
}

async function* followStore(
  store: Store,
  scheduler: Scheduler,
  { filter, last, signal }: FollowRequest,
): AsyncGenerator<AuditView> {
  let place = await store.audit.latestOrder()
  if (last > 0) {
    const { items } = await store.audit.list(auditFilter(filter), { limit: last, cursor: null })
    const known = items.filter(({ order }) => order <= place)
    for (const row of known.toReversed()) yield auditView(row)
  }
  while (!signal.aborted) {
    const { rows, more } = await store.audit.after(place, auditFilter(filter), biteMax)
    for (const row of rows) {
      place = row.order
      yield auditView(row)
    }
    if (!more) await delay(scheduler, pollMs, signal)
  }
}
