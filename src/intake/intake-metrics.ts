/** What intake counts. */

export interface IntakeMetrics {
  /** A signed delivery was answered. */
  webhook(event: string, decision: string): void
  /** `lagMs` after it was received. */
  inboxProcessed(lagMs: number): void
}
