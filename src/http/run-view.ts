/** A run, and what came of asking for one, as the wire shows it. */
import type { Run } from '../domain/run.ts'
import type { Claimed, Leased, LeaseView } from '../runs/runs.ts'
import type { RunView } from './contract.ts'

export const timeView = (ms: number): string => new Date(ms).toISOString()
const maybeTime = (ms: number | null): string | null => (ms === null ? null : timeView(ms))
const maybeJson = (json: string | null): unknown => (json === null ? null : JSON.parse(json))

export function runView(run: Run): RunView {
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
    anchor: { comment_id: null, url: null },
    status_context: null,
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

export function claimedView(claimed: Claimed) {
  return {
    should_process: claimed.shouldProcess,
    reason: claimed.reason,
    run_key: claimed.runKey,
    superseded_run_keys: [...claimed.supersededRunKeys],
    run: claimed.run === null ? null : runView(claimed.run),
    lease: claimed.lease === null ? null : leaseView(claimed.lease),
    run_token: claimed.runToken,
  }
}

export function leasedView(leased: Leased) {
  return {
    run: runView(leased.run),
    lease: leaseView(leased.lease),
    run_token: leased.runToken,
  }
}
