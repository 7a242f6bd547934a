/**
 * Faults between GitHub and a receiver. The oldest rule that matches a delivery decides what
 * happens to it, until the rule's `times` are used up. Other deliveries arrive normally.
 */

export type WebhookFault =
  /** Arrives twice with the same GUID. */
  | 'duplicate'
  /** Arrives twice, each time with its own GUID. */
  | 'duplicate-new-guid'
  /** Does not arrive; the deliveries API says that the receiver could not be reached. */
  | 'drop'
  /** Does not arrive and is in no log, as with a payload over 25 MB. */
  | 'drop-unlogged'
  /** Waits for `release`. */
  | 'hold'
  /** Arrives after that time; later ones overtake it. */
  | { readonly lateMs: number }

export interface WebhookFaultRule {
  readonly fault: WebhookFault
  /** Any event if absent; the same for `action`. */
  readonly event?: string
  readonly action?: string
  /** How many deliveries it hits; 1 if absent. */
  readonly times?: number
}

export interface WebhookFaults {
  add(rule: WebhookFaultRule): void
  /** The fault of this delivery, which then counts as hit; null for none. */
  take(event: string, action: string | null): WebhookFault | null
}

export function createWebhookFaults(): WebhookFaults {
  const rules: { rule: WebhookFaultRule; remaining: number }[] = []
  return {
    add: (rule) => void rules.push({ rule, remaining: rule.times ?? 1 }),
    take(event, action) {
      const found = rules.find(
        ({ rule, remaining }) =>
          remaining > 0 &&
          (rule.event ?? event) === event &&
          (rule.action === undefined || rule.action === action),
      )
      if (found === undefined) return null
      found.remaining -= 1
      return found.rule.fault
    },
  }
}
