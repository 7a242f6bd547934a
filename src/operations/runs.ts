/** Operations on runs that exist: read them, hold them, rerun and cancel them. */
import { type Paging, pageView, timeView } from '../contract/answers.ts'
import { type AuditList, auditView } from '../contract/audit.ts'
import { claimedView, leasedView, runPage, runView } from '../contract/run-view.ts'
import type {
  ClaimedView,
  CompleteBody,
  HeartbeatBody,
  LeaseBody,
  LeasedView,
  ReleaseBody,
  RenewedView,
  RunList,
  RunView,
  RunsQuery,
} from '../contract/runs.ts'
import type { Leased } from '../runs/runs.ts'
import { hashLeaseToken } from '../secrets.ts'
import { isReadable, unreadable } from '../stored-json.ts'
import { type Caller, heldLeaseHash, leaseTokenOf, limitsOf } from './caller.ts'
import { emptyPage, givenFilters, pageOf } from './listing.ts'
import { unchanged } from '../texts/run-secrets.ts'
import { type WithId, operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'
import { checkRun } from './reach.ts'

/** Runs, newest first. A limited token sees those within its limits. */
export const listRuns = operation(
  { scopes: ['operator', 'worker', 'read'], within: 'itself' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    query: RunsQuery,
  ): Promise<RunList> => {
    const { repo, pr, issue, task, state, type, key, head_sha: headSha } = query
    // No run belongs to an issue or a task yet.
    if (issue !== undefined || task !== undefined) return emptyPage
    const filter = givenFilters({ repo, pr, state, type, key, headSha, within: limitsOf(caller) })
    return await runPage(store, await runs.list(filter, pageOf(query)))
  },
)

/** One run. */
export const getRun = operation(
  { scopes: ['operator', 'worker', 'read', 'run'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    _caller,
    { id }: WithId,
  ): Promise<RunView> => runView(store, await runs.get(id)),
)

/** What happened to one run, newest first. */
export const listRunAudit = operation(
  { scopes: ['operator', 'worker', 'read', 'run'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    _caller,
    { id, ...paging }: WithId & Paging,
  ): Promise<AuditList> => {
    const { id: runId } = await runs.get(id)
    return pageView(await store.audit.list({ runId }, pageOf(paging)), auditView)
  },
)

/** Leases the run that has waited longest. Returns null if there is none in time. */
export const leaseRun = operation(
  { scopes: ['worker'], within: 'itself' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    body: LeaseBody,
    { once, signal },
  ): Promise<LeasedView | null> => {
    const { worker, types, run_id: runId, wait_ms: waitMs, lease_ms: leaseMs } = body
    const isCaller = body.as_caller === true
    const [within, token] = [limitsOf(caller), leaseTokenOf(caller)]
    if (within !== undefined && runId !== undefined) await checkRun(store, within, runId)
    const request = { worker, types, runId, waitMs, leaseMs, isCaller, within, token, signal }
    for (;;) {
      const leased = await runs.lease(request, caller.actor, once)
      if (leased === null) return null
      if (isReadable(leased.run.input)) return await leasedView(store, leased)
      // A worker could do nothing right with it. The same key leases the next run.
      await failUnreadable(runs, leased, caller)
    }
  },
)

async function failUnreadable(
  runs: OperationPorts['runs'],
  { run, lease }: Leased,
  { actor }: Caller,
): Promise<void> {
  const { code, message: text } = unreadable('input of the run')
  const failed = { outcome: 'failed', error: { code, text } } as const
  await runs.complete({ ...failed, runId: run.id, leaseHash: hashLeaseToken(lease.token) }, actor)
}

/** Renews a lease. With `wait_ms` it waits, and rejects early if the holder loses the run. */
export const heartbeatRun = operation(
  { scopes: ['worker', 'run'], within: 'run' },
  async (
    { runs }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    { id: runId, lease_token: token, lease_ms: leaseMs, wait_ms: waitMs }: WithId & HeartbeatBody,
    { once, signal },
  ): Promise<RenewedView> => {
    const request = { runId, leaseHash: heldLeaseHash(caller, token), leaseMs, waitMs, signal }
    const { expiresAt } = await runs.heartbeat(request, caller.actor, once)
    return { expires_at: timeView(expiresAt) }
  },
)

/** Gives a run back to wait for another worker. No attempt is counted. */
export const releaseRun = operation(
  { scopes: ['worker', 'run'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    { id, lease_token: token }: WithId & ReleaseBody,
    { once },
  ): Promise<RunView> => {
    const released = await runs.release(id, heldLeaseHash(caller, token), caller.actor, once)
    return await runView(store, released)
  },
)

/** The holder reports how the run ended. A repeat gets the same answer. */
export const completeRun = operation(
  { scopes: ['worker', 'run'], within: 'run' },
  async (
    { runs, store, runSecrets }: Pick<OperationPorts, 'runs' | 'store' | 'runSecrets'>,
    caller,
    { id: runId, lease_token: token, outcome, verdict, ...texts }: WithId & CompleteBody,
    { once },
  ): Promise<RunView> => {
    const leaseHash = heldLeaseHash(caller, token)
    const mask = runSecrets?.maskOf(leaseHash) ?? unchanged
    const { target_url: targetUrl, error, ...result } = mask(texts)
    const request = {
      ...{ ...result, outcome, verdict, runId, leaseHash, targetUrl },
      error: typeof error === 'string' ? { code: 'failed', text: error } : error,
    }
    return await runView(store, await runs.complete(request, caller.actor, once))
  },
)

/** Starts the next round of a run: now, or when the current round ends. */
export const rerunRun = operation(
  { scopes: ['operator'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    { actor },
    { id }: WithId,
    { once },
  ): Promise<ClaimedView> => claimedView(store, await runs.rerun(id, actor, once)),
)

/** Ends an active run now. Its holder learns of it at the next heartbeat. */
export const cancelRun = operation(
  { scopes: ['operator'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    { actor },
    { id }: WithId,
    { once },
  ): Promise<RunView> => runView(store, await runs.cancel(id, actor, once)),
)
