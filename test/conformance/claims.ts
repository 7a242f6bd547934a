/** Builders: claims with everything filled in, so that a test names only what it is about. */
import { createHash } from 'node:crypto'
import type { Claim } from '../../src/domain/claim.ts'
import type { LeaseGrant, Outcome, Run, RunPolicy } from '../../src/domain/run.ts'
import { unannounced } from '../../src/domain/run.ts'
import { hashSecret } from '../../src/secrets.ts'
import type {
  CompleteRequest,
  GitHubTokenNote,
  HolderRequest,
  LeaseHandle,
  LeaseRequest,
} from '../../src/store.ts'
import { hour, minute } from './world.ts'

export const leaseMs = minute

export const policy: RunPolicy = {
  announcement: unannounced,
  onNewer: 'supersede',
  attempts: 3,
  timeoutMs: 6 * hour,
  pendingTimeoutMs: hour,
}

let made = 0

/** A text that no other test uses. */
export function unique(what: string): string {
  made += 1
  return `${what}-${made}`
}

export const sha = (text: string): string => createHash('sha1').update(text).digest('hex')

export function grant(over: Partial<LeaseGrant> = {}): LeaseGrant {
  const secret = unique('secret')
  return { secret, hash: hashSecret(secret), ms: leaseMs, holder: 'caller', worker: null, ...over }
}

const anyClaim: Omit<Claim, 'repo' | 'subjectName' | 'key' | 'pair' | 'lease'> = {
  type: 'review',
  policy,
  pr: null,
  baseSha: null,
  headSha: null,
  beforeSha: null,
  threadCreatedAt: null,
  headMaking: true,
  headFromGitHub: false,
  eventAt: null,
  webhookId: null,
  event: null,
  action: null,
  sender: null,
  rerun: false,
  mayQueue: true,
  skipReason: null,
  repoId: null,
  input: null,
  leaseMs,
  actor: 'test',
}

export interface PullRequestNames {
  readonly repo: string
  readonly pr: number
  /** Short words, from which the claim builds full shas. */
  readonly head: string
  readonly base?: string
}

export function pullRequestClaim(names: PullRequestNames, over: Partial<Claim> = {}): Claim {
  const { repo, pr, head, base = 'main' } = names
  const pair = `base-${sha(base)}:head-${sha(head)}`
  return {
    ...anyClaim,
    repo,
    subjectName: `pr-${pr}`,
    key: `${repo}:pr-${pr}:${pair}`,
    pair,
    pr,
    baseSha: sha(base),
    headSha: sha(head),
    lease: grant(),
    ...over,
  }
}

export function jobClaim(key: string, subject: string, over: Partial<Claim> = {}): Claim {
  return {
    ...anyClaim,
    type: 'job',
    policy: { ...policy, onNewer: 'queue' },
    repo: null,
    subjectName: subject,
    key,
    pair: key,
    lease: grant(),
    ...over,
  }
}

interface Held {
  readonly run: Run | null
  readonly lease: LeaseHandle | null
}

/** The completion that the holder of this answer sends. */
export function holderOf({ run, lease }: Held): HolderRequest {
  if (run === null || lease === null) throw new Error('nobody holds this')
  return { runId: run.id, leaseHash: hashSecret(lease.secret), leaseMs: null, actor: 'holder' }
}

export function completion(
  held: Held,
  outcome: Outcome = 'succeeded',
  over: Partial<CompleteRequest> = {},
): CompleteRequest {
  const { runId, leaseHash, actor } = holderOf(held)
  return {
    runId,
    leaseHash,
    actor,
    outcome,
    verdict: outcome === 'succeeded' ? 'success' : null,
    summary: null,
    description: null,
    targetUrl: null,
    result: null,
    errorCode: null,
    errorText: null,
    ...over,
  }
}

export function tokenNote(held: Held): GitHubTokenNote {
  const { runId, leaseHash, actor } = holderOf(held)
  return {
    runId,
    leaseHash,
    actor,
    repo: 'acme/widgets',
    repoGithubId: 42,
    permissions: { contents: 'read' },
    expiresAt: Date.UTC(2026, 0, 31, 13),
  }
}

export function leaseRequest(over: Partial<LeaseRequest> = {}): LeaseRequest {
  const worker = grant({ holder: 'worker', worker: 'a worker' })
  return { grant: worker, leaseMs, types: null, runId: null, actor: 'worker', ...over }
}
