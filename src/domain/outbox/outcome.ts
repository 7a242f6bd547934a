/** What a step can come to: the words between whoever sends and whoever decides. */
import type { AuditDraft, AuditType } from '../audit.ts'
import type { ChannelDeclaration } from './channel-declaration.ts'
import type { Delivery } from './delivery.ts'
import type { PublishingRules } from './schedule.ts'

export interface DeliveryChange {
  readonly delivery: Delivery
  readonly audits: readonly AuditDraft[]
}

export interface Circumstances {
  /** Of the delivery's channel. */
  readonly channel: ChannelDeclaration
  readonly now: number
  readonly rules: PublishingRules
  /** In [0, 1). */
  readonly jitter: number
}

/** What went wrong, in short: nothing of the other side's words. */
export interface Trouble {
  readonly code: string
  readonly text: string
}

/**
 * What an error of a channel's connection means, whatever the other side calls it:
 * - `too_late`: its time was over before it left. Nothing was sent.
 * - `not_done`: certainly nothing was done; it may be sent again.
 * - `unanswered`: it may have been done.
 * - `limited`: nothing was done, and nothing may be sent before `until`.
 * - `missing`: what was to be changed, or its place, is not there.
 * - `refused`: it was refused as it is.
 */
export interface SendFailure {
  readonly kind: 'too_late' | 'not_done' | 'unanswered' | 'limited' | 'missing' | 'refused'
  readonly trouble: Trouble
  /** Not before this, by our clock; null where the other side asks for no wait. */
  readonly until: number | null
  /** Refused without a reason: it may have come too fast. */
  readonly unclear?: boolean
  /** The place may not be visible yet, if it is new. */
  readonly mayBeUnseen?: boolean
  /** A read that was refused like this may succeed later. */
  readonly mayPass?: boolean
  /** For the attempt's record. */
  readonly httpStatus?: number | null
  readonly requestId?: string | null
  readonly providerRequestId?: string | null
}

/** One of ours that was found at the target. */
export interface FoundOutput {
  readonly providerId: string
  readonly url: string | null
  readonly current: boolean
  /** It says that work is under way; undefined where nobody can tell. */
  readonly atWork?: boolean
  /** Of what it shows, where a version that shows the same need not be sent. */
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
  /** Nothing was done, and it may be tried again: not before `after`. */
  | { readonly what: 'retry'; readonly trouble: Trouble; readonly after: number | null }
  | { readonly what: 'permanent'; readonly trouble: Trouble }
  /** Refused, and it was not said why: it may have come too fast. */
  | { readonly what: 'unclear'; readonly trouble: Trouble }
  /** `isKept`: whoever has to wait is blocked in the store already, and may be somebody else. */
  | {
      readonly what: 'rate_limited'
      readonly until: number
      readonly trouble: Trouble
      readonly isKept?: true
    }
  /** It may have been done. `looks`: how often to look before it is sent again. */
  | {
      readonly what: 'in_doubt'
      readonly trouble: Trouble
      readonly after: number | null
      readonly looks: 1 | 2
    }
  /** It was too late to send it. */
  | { readonly what: 'not_sent' }
  /** What was to be edited is not there. */
  | { readonly what: 'gone'; readonly trouble: Trouble }

/** What a step without an attempt found out. */
export type Finding =
  /** What would be sent is what is there. */
  | { readonly what: 'unchanged'; readonly hash: string }
  | {
      readonly what: 'looked'
      readonly found: readonly FoundOutput[]
      readonly unverified: boolean
      readonly hash: string
      /** How many looks an unanswered one is worth. */
      readonly looks: 1 | 2
      /** It was its turn in the queue of its identity. */
      readonly isTurn?: boolean
    }
  | { readonly what: 'examined'; readonly there: boolean; readonly placeIsThere: boolean }
  | { readonly what: 'scanned'; readonly found: readonly FoundOutput[] }
  | { readonly what: 'settled'; readonly found: readonly FoundOutput[] }
  /** The look itself came to nothing; `permanent`: it never will. */
  | {
      readonly what: 'look_failed'
      readonly trouble: Trouble
      readonly after: number | null
      readonly permanent: boolean
    }
  | { readonly what: 'look_limited'; readonly until: number }
  /** Its content can never be sent. */
  | { readonly what: 'invalid'; readonly trouble: Trouble }
  /** It could not be made ready to be sent, or not in time. */
  | { readonly what: 'unprepared'; readonly trouble: Trouble; readonly counted: boolean }
  /** `queue`: where it waits until then; null when the identity is blocked. */
  | { readonly what: 'budget'; readonly until: number; readonly queue: string | null }
  /** Its identity has its share of slots: it waits in that queue until one is free. */
  | { readonly what: 'no_slot'; readonly queue: string }
  /** It may have arrived, and its channel cannot be looked at: what its policy says. */
  | { readonly what: 'resend' | 'hold' }
  /** What is left of a limited number is kept for more important ones. */
  | { readonly what: 'reserve' }
  | { readonly what: 'nothing' }
  /** Something about its place was learnt: what to do next is decided anew, at once. */
  | { readonly what: 'place_learnt' }
  /** A newer version came meanwhile: nothing that was found out holds for that one. */
  | { readonly what: 'overtaken' }

/** Who is there, and who has us blocked, holds for every version; what it shows, for its own. */
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
