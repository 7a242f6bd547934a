/**
 * The operations directly on the database, with the same answers as a server. The audit names `cli`
 * as the actor of every change. A server on the same database polls, so it finds pending work
 * without being notified.
 */
import { auditView } from '../../contract/audit.ts'
import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { auditFilter, explain, listAudit } from '../../operations/audit.ts'
import { localCaller } from '../../operations/caller.ts'
import {
  confirmDelivery,
  getDelivery,
  listBudgets,
  listDeliveries,
  retryDeliveries,
  retryDelivery,
  skipDelivery,
  unblockIdentity,
} from '../../operations/deliveries.ts'
import { getInboxEntry, listInbox, replayInboxEntry } from '../../operations/inbox.ts'
import { cancelRun, getRun, listRunAudit, listRuns, rerunRun } from '../../operations/runs.ts'
import { confirmStep, failStep, listSteps, repeatStep } from '../../operations/steps.ts'
import { createToken, deleteToken, listTokens } from '../../operations/tokens.ts'
import type { CheckIsOurs } from '../../outbox/is-ours.ts'
import type { Random } from '../../random.ts'
import { createRuns } from '../../runs/create-runs.ts'
import type { Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import { budgetLimits } from '../../settings/run-types/publishing-rules.ts'
import { runPolicy } from '../../settings/run-types/run-policy.ts'
import type { Settings } from '../../settings/settings.ts'
import type { IdempotencyKey, Store } from '../../store.ts'
import type { AuditView } from '../../contract.ts'
import type { FollowRequest, Operations } from './operations.ts'

const pollMs = 500
const batchMax = 500

/** Whoever can open the database may do everything. */
const cliCaller = localCaller('cli')

export interface StoreWorld {
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly log: Log
  /** Asks GitHub, as the settings say. */
  readonly checkIsOurs: CheckIsOurs
}

export function storeOperations(store: Store, settings: Settings, world: StoreWorld): Operations {
  const ports = portsOn(store, settings, world)
  return {
    listRuns: (query) => listRuns(ports, cliCaller, query),
    run: (id) => getRun(ports, cliCaller, { id }),
    runAudit: (id, page) => listRunAudit(ports, cliCaller, { id, ...page }),
    rerunRun: (id) => rerunRun(ports, cliCaller, { id }),
    cancelRun: (id) => cancelRun(ports, cliCaller, { id }),

    listSteps: (id, query) => listSteps(ports, cliCaller, { id, ...query }),
    confirmStep: (id, name, body) => confirmStep(ports, cliCaller, { id, name, ...body }),
    repeatStep: (id, name) => repeatStep(ports, cliCaller, { id, name }),
    failStep: (id, name, body) => failStep(ports, cliCaller, { id, name, ...body }),

    listAudit: (query) => listAudit(ports, cliCaller, query),
    followAudit: (request) => followStore(store, world.scheduler, request),

    listInbox: (query) => listInbox(ports, cliCaller, query),
    inboxEntry: (id) => getInboxEntry(ports, cliCaller, { id }),
    replayInboxEntry: (id) => replayInboxEntry(ports, cliCaller, { id }),

    listDeliveries: (query) => listDeliveries(ports, cliCaller, query),
    delivery: (id) => getDelivery(ports, cliCaller, { id }),
    retryDelivery: (id) => retryDelivery(ports, cliCaller, { id }),
    retryDeliveries: (filter) => retryDeliveries(ports, cliCaller, filter),
    skipDelivery: (id, reason) => skipDelivery(ports, cliCaller, { id, reason }),
    confirmDelivery: (id, body) => confirmDelivery(ports, cliCaller, { id, ...body }),
    budgets: () => listBudgets(ports, cliCaller, {}),
    unblockIdentity: (identity) => unblockIdentity(ports, cliCaller, { identity }),

    why: (q) => explain(ports, cliCaller, { q }),

    createToken: (body) => createToken(ports, cliCaller, body),
    listTokens: (page) => listTokens(ports, cliCaller, page),
    deleteToken: (id) => deleteToken(ports, cliCaller, { id }),

    close: () => store.close(),
  }
}

function portsOn(store: Store, settings: Settings, world: StoreWorld) {
  const runs = createRuns({
    ...world,
    store,
    leaseMs: settings.leaseMs,
    policyOf: (type, kind) => runPolicy(settings, type, kind),
    headSource: null,
  })
  return {
    store,
    runs,
    intake: {
      replay: (id: string, actor: string, once?: IdempotencyKey) =>
        store.inbox.replay(id, actor, once ?? null),
    },
    checkIsOurs: world.checkIsOurs,
    budgetLimits: budgetLimits(settings),
    random: world.random,
  }
}

async function* followStore(
  store: Store,
  scheduler: Scheduler,
  { filter, last, signal }: FollowRequest,
): AsyncGenerator<AuditView> {
  let place = await store.audit.latestOrder()
  if (last > 0) {
    const { items } = await listAudit({ store }, cliCaller, { ...filter, limit: last })
    yield* items.filter(({ order }) => order <= place).toReversed()
  }
  while (!signal.aborted) {
    const { rows, more } = await store.audit.after(place, auditFilter(filter), batchMax)
    for (const row of rows) {
      place = row.order
      yield auditView(row)
    }
    if (!more) await delay(scheduler, pollMs, signal)
  }
}
