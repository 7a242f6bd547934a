/** Runs, and the answers to claims and leases, as the API shows them. */
import type { Run } from '../domain/run.ts'
import { StoreUnavailableError } from '../errors.ts'
import type { AnchorPlace, OutboxStore } from '../store/outbox-store.ts'
import type { Claimed, Leased, LeaseView } from '../runs/runs.ts'
import type { Paged } from '../store.ts'
import { shownStored } from '../stored-json.ts'
import { maybeTime, timeView } from './answers.ts'
import type { RunView } from './runs.ts'
import { knownStepView } from './step-view.ts'

const maybeJson = (json: string | null): unknown =>
  json === null ? null : shownStored(() => JSON.parse(json))

export interface AnchorSource {
  readonly outbox: Pick<OutboxStore, 'anchorsOf'>
}

export async function runView(store: AnchorSource, run: Run): Promise<RunView> {
  const anchors = await anchorsOf(store, [run])
  return viewOf(run, anchors.get(run.id) ?? null)
}

export async function runPage(store: AnchorSource, page: Paged<Run>) {
  const anchors = await anchorsOf(store, page.items)
  const items = page.items.map((run) => viewOf(run, anchors.get(run.id) ?? null))
  return { items, next_cursor: page.nextCursor }
}

/**
 * If the store is unavailable, the answer has no comment. What was done before is still answered.
 */
async function anchorsOf(
  { outbox }: AnchorSource,
  runs: readonly Run[],
): Promise<ReadonlyMap<string, AnchorPlace>> {
  const shown = runs.filter(({ anchorPer }) => anchorPer !== null)
  if (shown.length === 0) return new Map()
  return await outbox.anchorsOf(shown).catch((error: unknown) => {
    if (error instanceof StoreUnavailableError) return new Map<string, AnchorPlace>()
    throw error
  })
}

function viewOf(run: Run, anchor: AnchorPlace | null): RunView {
  return {
    id: run.id,
    key: run.key,
    type: run.type,
    subject: run.subject,
    repo: run.repo,
    pr: run.pr,
    issue: null,
    task_id: null,
    phase: null,
    base_sha: run.baseSha,
    head_sha: run.headSha,
    state: run.state,
    attempt: run.attempt,
    round: run.round,
    fence: run.fence,
    superseded_by: run.supersededBy,
    created_at: timeView(run.createdAt),
    started_at: maybeTime(run.startedAt),
    finished_at: maybeTime(run.finishedAt),
    deadline_at: maybeTime(run.deadlineAt),
    lease_expires_at: maybeTime(run.leaseExpiresAt),
    outcome: run.outcome,
    verdict: run.verdict,
    summary: run.summary,
    description: run.description,
    target_url: run.targetUrl,
    input: maybeJson(run.input),
    feedback: null,
    trigger: triggerView(run),
    previous: previousView(run),
    result: maybeJson(run.result),
    error: run.errorCode === null ? null : { code: run.errorCode, text: run.errorText },
    anchor: anchor && { comment_id: Number(anchor.commentId), url: anchor.url },
    status_context: run.statusContext,
  }
}

function triggerView(run: Run): RunView['trigger'] {
  const { triggerEvent: event, triggerAction: action, triggerSender: sender } = run
  return event === null && action === null && sender === null ? null : { event, action, sender }
}

function previousView(run: Run): RunView['previous'] {
  if (run.previousRunId === null) return null
  return {
    run_id: run.previousRunId,
    head_sha: run.previousHeadSha,
    verdict: run.previousVerdict,
  }
}

function leaseView(lease: LeaseView) {
  return { token: lease.token, expires_at: timeView(lease.expiresAt) }
}

export async function claimedView(store: AnchorSource, claimed: Claimed) {
  return {
    should_process: claimed.shouldProcess,
    reason: claimed.reason,
    run_key: claimed.runKey,
    superseded_run_keys: [...claimed.supersededRunKeys],
    run: claimed.run === null ? null : await runView(store, claimed.run),
    lease: claimed.lease === null ? null : leaseView(claimed.lease),
    run_token: claimed.runToken,
  }
}

export async function leasedView(store: AnchorSource, leased: Leased) {
  return {
    run: await runView(store, leased.run),
    lease: leaseView(leased.lease),
    run_token: leased.runToken,
    steps: leased.steps.map(knownStepView),
  }
}
