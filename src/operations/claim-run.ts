/** Decides once whether an event leads to work. If it does, the caller gets the lease. */
import type { ClaimBody, ClaimedView } from '../contract/runs.ts'
import { claimedView } from '../contract/run-view.ts'
import { isSandboxId } from '../domain/repository-names.ts'
import { reachesRepository, reachesType, type TokenLimits } from '../domain/token-limits.ts'
import type { ClaimRequest } from '../runs/runs.ts'
import { leaseTokenOf, limitsOf } from './caller.ts'
import { invalidValue } from './invalid-input.ts'
import { operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'
import { namesNoRepository, outsideLimits, type ReachStore } from './reach.ts'

export const claimRun = operation(
  { scopes: ['worker'], within: 'itself' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    body: ClaimBody,
    { once },
  ): Promise<ClaimedView> => {
    const limits = limitsOf(caller)
    const request = { ...requestOf(body), token: leaseTokenOf(caller) }
    const allowed = limits === undefined ? request : await claimWithin(store, limits, request)
    return await claimedView(store, await runs.claim(allowed, caller.actor, once))
  },
)

function requestOf(body: ClaimBody): ClaimRequest {
  const common = {
    type: body.type,
    webhookId: webhookIdOf(body),
    event: body.event,
    action: body.action,
    sender: body.sender,
    eventAt: body.event_at,
    rerun: body.rerun,
    queue: body.queue,
    input: body.input,
    lease: body.lease,
    leaseMs: body.lease_ms,
    repoId: body.repo_id,
  }
  if ('key' in body) {
    const { key, subject, repo, sha } = body
    return { ...common, kind: 'job', key, subject, repo, sha }
  }
  return {
    ...common,
    kind: 'pull_request',
    repo: body.repo,
    pr: body.pr,
    baseSha: body.base_sha,
    headSha: body.head_sha,
    beforeSha: body.before_sha,
  }
}

function webhookIdOf(body: ClaimBody): string | undefined {
  const { webhook_id: webhookId, delivery_id: deliveryId } = body
  if (webhookId !== undefined && deliveryId !== undefined && webhookId !== deliveryId) {
    throw invalidValue('delivery_id', 'must equal webhook_id when both are given')
  }
  return webhookId ?? deliveryId
}

/**
 * The claim that a limited token may make, by the repository that its name means now. Such a claim
 * must not teach Holdfast an id: with the id of another repository, it would reach that one. So the
 * id must be the known one. If none is known yet, only the name counts. So it does if the sandbox
 * made up the id.
 */
async function claimWithin(
  store: ReachStore,
  limits: TokenLimits,
  claim: ClaimRequest,
): Promise<ClaimRequest> {
  const { type, repo, repoId } = claim
  const name = repo?.toLowerCase()
  const stored = name === undefined ? null : await store.repositories.getByName(name)
  const place = name === undefined ? null : (stored ?? { id: null, name })
  if (repo === undefined && limits.repositories !== null && reachesType(limits, type)) {
    throw namesNoRepository(limits)
  }
  if (!reachesType(limits, type) || !reachesRepository(limits, place)) {
    const where = repo === undefined ? '' : ` in ${repo}`
    throw outsideLimits(limits, `a run of the type ${type}${where}`)
  }
  if (limits.repositories === null || repoId === undefined) return claim
  const githubId = stored?.githubId ?? null
  if (githubId === null || isSandboxId(githubId)) return { ...claim, repoId: undefined }
  if (githubId === repoId) return claim
  throw outsideLimits(limits, `repo_id ${repoId} is not known as ${repo ?? ''}, so it`)
}
