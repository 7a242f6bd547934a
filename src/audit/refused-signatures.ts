/**
 * Which webhooks were refused because of a wrong signature, and whether that still matters. Only
 * those of the last day matter, and only if none was accepted since. Anybody can send one wrong
 * signature; but if all are wrong, the secrets differ.
 */
import type { AuditRow } from '../domain/audit.ts'
import type { Store, StorePart } from '../store.ts'

const refusalsMax = 100
const dayMs = 24 * 60 * 60_000
/** Only a webhook with a right signature has such a row in the audit. */
const acceptedTypes = ['webhook.received', 'webhook.ignored', 'webhook.duplicate'] as const

export interface Signatures {
  /** Refused in the last day and after the last accepted one, newest first. */
  readonly refused: readonly AuditRow[]
  /** Whether others were refused in the last day, before one was accepted. */
  readonly someBefore: boolean
  /** When the last webhook with a right signature arrived. */
  readonly acceptedAt: number | null
}

export async function readSignatures(
  store: StorePart<{ audit: 'list' }> & Pick<Store, 'now'>,
): Promise<Signatures> {
  const [refused, ...accepted] = await Promise.all([
    store.audit.list({ refused: 'signature' }, { limit: refusalsMax, cursor: null }),
    ...acceptedTypes.map((type) => store.audit.list({ type }, { limit: 1, cursor: null })),
  ])
  const times = accepted.flatMap(({ items }) => items.map(({ at }) => at))
  return judgeSignatures(refused.items, times.length === 0 ? null : Math.max(...times), store.now())
}

/** `refusals`: newest first. */
export function judgeSignatures(
  refusals: readonly AuditRow[],
  acceptedAt: number | null,
  nowMs: number,
): Signatures {
  const recent = refusals.filter(({ at }) => at > nowMs - dayMs)
  const refused = recent.filter(({ at }) => acceptedAt === null || at > acceptedAt)
  return { refused, someBefore: recent.length > refused.length, acceptedAt }
}
