/**
 * Port: what is counted and measured while the program works. Every call is cheap and never throws;
 * texts that come from outside are bounded by whoever keeps the counts.
 */
export interface Metrics {
  claimed(type: string, reason: string): void
  runEnded(type: string, state: string): void
  /** A run was taken from a holder that did not renew its lease. */
  leaseLost(): void
  /** `ms` from the call to the answer, with all waiting and repeating in between. */
  storeAnswered(verb: string, ms: number): void
  /** How many were carried by one commit (`group`), or by one set of statements (`batch`). */
  committedTogether(kind: 'group' | 'batch', count: number): void
  /** A transaction met others at the same rows: tried once more, or its caller was told. */
  storeRepeated(what: 'again' | 'given_up'): void
  httpAnswered(answer: HttpAnswer): void
  /** A signed delivery was answered. */
  webhook(event: string, decision: string): void
  /** `lagMs` after it was received. */
  inboxProcessed(lagMs: number): void
  /** A webhook could not be processed now, and why; it is tried again, or given up. */
  inboxPutOff(why: PutOffReason): void
  /** `ok`, or what kind of trouble it was. */
  githubAsked(kind: string): void
  /** A delivery was tried: how the attempt ended, or `late`. */
  attempted(channel: string, outcome: string): void
  /** `lagMs` after it was wanted. */
  published(channel: string, lagMs: number): void
}

export type PutOffReason = 'github' | 'contended' | 'store' | 'fault'

export interface HttpAnswer {
  /** The pattern, not the path; null where there is none. */
  readonly route: string | null
  readonly method: string
  readonly status: number
  readonly ms: number
}

/** All of it as a scraper reads it. */
export interface MetricsPage {
  readonly contentType: string
  text(): Promise<string>
}

const ignore = (): void => undefined

/** For the library, which has nobody to show them to. */
export const noMetrics: Metrics = {
  claimed: ignore,
  runEnded: ignore,
  leaseLost: ignore,
  storeAnswered: ignore,
  committedTogether: ignore,
  storeRepeated: ignore,
  httpAnswered: ignore,
  webhook: ignore,
  inboxProcessed: ignore,
  inboxPutOff: ignore,
  githubAsked: ignore,
  attempted: ignore,
  published: ignore,
}
