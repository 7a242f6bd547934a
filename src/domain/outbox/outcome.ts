/**
 * The possible outcomes of a step. The publisher reports them, and the protocol decides what
 * follows.
 */
import type { AuditDraft, AuditType } from '../audit.ts'
import type { ChannelDeclaration } from './channel-declaration.ts'
import type { Delivery } from './delivery.ts'
import type { PublishingRules } from './schedule.ts'

export interface DeliveryChange {
  readonly delivery: Delivery
  readonly audits: readonly AuditDraft[]
}

export interface Circumstances {
  /** The declaration of the delivery's channel. */
  readonly channel: ChannelDeclaration
  readonly now: number
  readonly rules: PublishingRules
  /** In [0, 1). */
  readonly jitter: number
}

/** What went wrong, in our own words. It contains no text of the other side. */
export interface Trouble {
  readonly code: string
  readonly text: string
}

/**
 * What an error of a channel's connection means:
 * - `too_late`: the request did not leave in time. Nothing was sent.
 * - `not_done`: certainly nothing was done; it may be sent again.
 * - `unanswered`: it may have been done.
 * - `limited`: nothing was done, and nothing may be sent before `until`.
 * - `missing`: the output to change, or its place, is not there.
 * - `refused`: this request was refused.
 */
export interface SendFailure {
  readonly kind: 'too_late' | 'not_done' | 'unanswered' | 'limited' | 'missing' | 'refused'
  readonly trouble: Trouble
  /** The earliest next try, by our clock; null if the other side does not ask us to wait. */
  readonly until: number | null
  /** It was refused without a reason. We may have sent too fast. */
  readonly unclear?: boolean
  /** A new place may not be visible yet. */
  readonly mayBeUnseen?: boolean
  /** A read that was refused like this may succeed later. */
  readonly mayPass?: boolean
  /** Stored with the attempt. */
  readonly httpStatus?: number | null
  readonly requestId?: string | null
  readonly providerRequestId?: string | null
}

/** An output of ours that was found at the target. */
export interface FoundOutput {
  readonly providerId: string
  readonly url: string | null
  readonly current: boolean
  /** It shows work in progress; undefined if that is unknown. */
  readonly atWork?: boolean
  /** The hash of what it shows. A version with the same hash need not be sent. */
  readonly hash?: string
}

/** How an attempt ended. */
export type AttemptEnd =
  | {
      readonly what: 'sent'
      readonly providerId: string | null
      readonly url: string | null
      readonly hash: string
    }
  /** Nothing was done. It may be tried again, but not before `after`. */
  | { readonly what: 'retry'; readonly trouble: Trouble; readonly after: number | null }
  | { readonly what: 'permanent'; readonly trouble: Trouble }
  /** It was refused without a reason. We may have sent too fast. */
  | { readonly what: 'unclear'; readonly trouble: Trouble }
  /** `isKept`: the block is already stored, perhaps for another identity. */
  | {
      readonly what: 'rate_limited'
      readonly until: number
      readonly trouble: Trouble
      readonly isKept?: true
    }
  /** It may have been done. `looks`: how many looks must not find it before it is sent again. */
  | {
      readonly what: 'in_doubt'
      readonly trouble: Trouble
      readonly after: number | null
      readonly looks: 1 | 2
    }
  /** The request did not leave in time. */
  | { readonly what: 'not_sent' }
  /** The output to edit is not there. */
  | { readonly what: 'gone'; readonly trouble: Trouble }

/** What a step without an attempt found out. */
export type Finding =
  /** The output already shows what would be sent. */
  | { readonly what: 'unchanged'; readonly hash: string }
  | {
      readonly what: 'looked'
      readonly found: readonly FoundOutput[]
      readonly unverified: boolean
      readonly hash: string
      /** How many looks must not find an unanswered one before it is sent again. */
      readonly looks: 1 | 2
      /** Its turn in its identity's queue had come. */
      readonly isTurn?: boolean
    }
  | { readonly what: 'examined'; readonly there: boolean; readonly placeIsThere: boolean }
  | { readonly what: 'scanned'; readonly found: readonly FoundOutput[] }
  | { readonly what: 'settled'; readonly found: readonly FoundOutput[] }
  /** The look failed. `permanent`: it would always fail. */
  | {
      readonly what: 'look_failed'
      readonly trouble: Trouble
      readonly after: number | null
      readonly permanent: boolean
    }
  | { readonly what: 'look_limited'; readonly until: number }
  /** Its content can never be sent. */
  | { readonly what: 'invalid'; readonly trouble: Trouble }
  /** It could not be prepared, or not in time. `counted`: the try was counted before it began. */
  | { readonly what: 'unprepared'; readonly trouble: Trouble; readonly counted: boolean }
  /** `queue`: where it waits until then; null when the identity is blocked. */
  | { readonly what: 'budget'; readonly until: number; readonly queue: string | null }
  /** Its identity already uses its share of slots. It waits in that queue until one is free. */
  | { readonly what: 'no_slot'; readonly queue: string }
  /** It may have arrived, and the channel has no look. Its policy decides. */
  | { readonly what: 'resend' | 'hold' }
  /** The remaining writes of this target are reserved for how runs end. */
  | { readonly what: 'reserve' }
  | { readonly what: 'nothing' }
  /** This process does not have its channel. Another process may have it. */
  | { readonly what: 'no_channel'; readonly trouble: Trouble }
  /** Something about its place was learnt. The delivery is due at once for its next step. */
  | { readonly what: 'place_learnt' }
  /** A newer version was stored meanwhile. The finding says nothing about that version. */
  | { readonly what: 'overtaken' }

/**
 * Keeps what is true for every version: which outputs are there, and whether we are blocked. Drops
 * what is only true for the version that was looked for.
 */
export function forEarlierVersion(finding: Finding): Finding {
  switch (finding.what) {
    case 'looked':
    case 'scanned':
      return {
        ...finding,
        found: finding.found.map((seen) => ({ ...seen, current: false })),
      }
    case 'look_failed':
      return { ...finding, permanent: false }
    case 'examined':
    case 'look_limited':
    case 'place_learnt':
    case 'unprepared':
      return finding
    default:
      return { what: 'overtaken' }
  }
}

export function auditOf(
  { id, runId }: Delivery,
  type: AuditType,
  data: AuditDraft['data'],
): AuditDraft {
  return { type, actor: 'publisher', runId, deliveryId: id, data }
}
