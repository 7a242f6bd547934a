/** Builds claims as the HTTP API and the library make them, and the leases that belong to them. */
import type { Claim } from '../../src/domain/claim.ts'
import type { LeaseGrant, RunPolicy } from '../../src/domain/run.ts'
import { unannounced } from '../../src/domain/run.ts'
import { toClaim } from '../../src/runs/claim-request.ts'
import { hashSecret } from '../../src/secrets.ts'

export const policy: RunPolicy = {
  announcement: unannounced,
  onNewer: 'supersede',
  attempts: 3,
  timeoutMs: 600_000,
  pendingTimeoutMs: 600_000,
}

export interface ClaimParts {
  readonly pr: number
  readonly head: string
  readonly before?: string | undefined
  readonly eventAt?: number | undefined
  readonly webhookId?: string | undefined
  readonly rerun?: boolean
  /** Null leaves the run pending. */
  readonly secret: string | null
  readonly leaseMs: number
  readonly actor: string
  readonly now: number
}

export function grantOf(secret: string, ms: number, holder: LeaseGrant['holder']): LeaseGrant {
  return { secret, hash: hashSecret(secret), ms, holder, worker: holder === 'worker' ? 'w' : null }
}

export function claimOf(parts: ClaimParts): Claim {
  const { pr, head, before, eventAt, webhookId, rerun, secret, leaseMs, actor, now } = parts
  return toClaim(
    {
      kind: 'pull_request',
      type: 'review',
      repo: 'octo/hello',
      pr,
      baseSha: sha('base'),
      headSha: sha(head),
      beforeSha: before === undefined ? undefined : sha(before),
      eventAt,
      webhookId,
      rerun,
    },
    {
      policy,
      lease: secret === null ? null : grantOf(secret, leaseMs, 'caller'),
      leaseMs,
      actor,
      now,
    },
  )
}

/** Forty hex digits for a name. */
export const sha = (name: string): string => hashSecret(name).slice(0, 40)
