/**
 * What may go wrong between GitHub and a receiver, by script. A rule is used up by the deliveries
 * it matches, the oldest rule first; a delivery that no rule matches goes out as it should.
 */

export type WebhookFault =
  /** Twice, with one GUID: a redelivery that nobody asked for. */
  | 'duplicate'
  /** Twice, with a GUID for each: one event told as two. */
  | 'duplicate-new-guid'
  /** Not at all; the deliveries API says that the receiver could not be reached. */
  | 'drop'
  /** Not at all, and no record of it either, as with a payload over 25 MB. */
  | 'drop-unlogged'
  /** When `release` lets it go. */
  | 'hold'
  /** After that time, while later ones overtake it. */
  | { readonly lateMs: number }

export interface WebhookFaultRule {
  readonly fault: WebhookFault
  /** Any event when not given; the same for `action`. */
  readonly event?: string
  readonly action?: string
  /** How many deliveries it disturbs; 1 when not given. */
  readonly times?: number
}

export interface WebhookFaults {
  add(rule: WebhookFaultRule): void
  /** What happens to this delivery; null when nothing does. */
  take(event: string, action: string | null): WebhookFault | null
}

export function createWebhookFaults(): WebhookFaults {
  const rules: { rule: WebhookFaultRule; left: number }[] = []
  return {
    add: (rule) => void rules.push({ rule, left: rule.times ?? 1 }),
    take(event, action) {
      const found = rules.find(
        ({ rule, left }) =>
          left > 0 &&
          (rule.event ?? event) === event &&
          (rule.action === undefined || rule.action === action),
      )
      if (found === undefined) return null
      found.left -= 1
      return found.rule.fault
    },
  }
}
