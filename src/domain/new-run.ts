/** How a run begins: an empty row, then the values of the claim that starts a round. */
import type { Claim } from './claim.ts'
import type { HeadRank } from './head-order.ts'
import type { Run } from './run.ts'
import { unannounced } from './run.ts'
import type { Subject } from './subject.ts'

export function newRun(claim: Claim, subject: Subject, id: string, now: number): Run {
  return {
    ...blankRun,
    id,
    type: claim.type,
    subjectId: subject.id,
    scope: subject.scope,
    subject: subject.name,
    key: claim.key,
    pair: claim.pair,
    repo: claim.repo,
    pr: claim.pr,
    baseSha: claim.baseSha,
    headSha: claim.headSha,
    lastEventAt: claim.eventAt,
    leaseMs: claim.leaseMs,
    createdAt: now,
  }
}

/** A round keeps the policy that was valid when it was decided, and what triggered it. */
export function withTrigger(run: Run, claim: Claim, subject: Subject, rank: HeadRank): Run {
  return {
    ...withPrevious(run, subject),
    ...claim.policy.announcement,
    onNewer: claim.policy.onNewer,
    attemptsMax: claim.policy.attempts,
    timeoutMs: claim.policy.timeoutMs,
    pendingTimeoutMs: claim.policy.pendingTimeoutMs,
    leaseMs: claim.leaseMs,
    orderAt: rank.orderAt,
    asked: claim.rerun,
    input: claim.input ?? run.input,
    webhookId: claim.webhookId,
    triggerEvent: claim.event,
    triggerAction: claim.action,
    triggerSender: claim.sender,
  }
}

/** What was last finished on the subject when this round began. */
export function withPrevious(run: Run, subject: Subject): Run {
  return {
    ...run,
    previousRunId: subject.finishedRunId,
    previousHeadSha: subject.finishedHeadSha,
    previousVerdict: subject.finishedVerdict,
  }
}

const blankRun: Run = {
  id: '',
  rev: 0,
  type: '',
  subjectId: '',
  scope: '',
  subject: '',
  key: '',
  pair: '',
  repo: null,
  pr: null,
  baseSha: null,
  headSha: null,
  state: 'pending',
  onNewer: 'supersede',
  attempt: 1,
  round: 1,
  fence: 0,
  claimFence: 0,
  reports: [],
  ...unannounced,
  orderAt: null,
  lastEventAt: null,
  rerunWanted: false,
  asked: false,
  leaseHash: null,
  pastLeaseHashes: '',
  completedLeaseHash: null,
  leaseMs: 0,
  leaseExpiresAt: null,
  holder: null,
  worker: null,
  tokenId: null,
  tokenUntil: null,
  availableAt: null,
  dueAt: null,
  attemptsMax: 0,
  timeoutMs: 0,
  pendingTimeoutMs: 0,
  createdAt: 0,
  startedAt: null,
  finishedAt: null,
  deadlineAt: null,
  supersededBy: null,
  outcome: null,
  verdict: null,
  summary: null,
  description: null,
  targetUrl: null,
  input: null,
  result: null,
  errorCode: null,
  errorText: null,
  webhookId: null,
  triggerEvent: null,
  triggerAction: null,
  triggerSender: null,
  previousRunId: null,
  previousHeadSha: null,
  previousVerdict: null,
}
