/**
 * Port: what is counted and measured while the program runs. Every call is cheap and never throws.
 * The implementation limits how many different texts from outside it keeps.
 */
export interface Metrics {
  claimed(type: string, reason: string): void
  runEnded(type: string, state: string): void
  /** A holder lost its run, because it did not renew the lease. */
  leaseLost(): void
  /** `ms`: from the call to the answer, including waits and repeats. */
  storeAnswered(verb: string, ms: number): void
  /**
   * How many transactions one commit had (`group`), or how many requests one transaction (`batch`).
   */
  committedTogether(kind: 'group' | 'batch', count: number): void
  /** A transaction conflicted with others: it was repeated, or given up with an error. */
  storeRepeated(what: 'again' | 'given_up'): void
  httpAnswered(answer: HttpAnswer): void
  /** A signed webhook was answered. */
  webhook(event: string, decision: string): void
  /** `lagMs`: time since it was received. */
  inboxProcessed(lagMs: number): void
  /** A webhook could not be processed now. It is tried again, or given up. */
  inboxPutOff(why: PutOffReason): void
  /** `ok`, or the kind of error. */
  githubAsked(kind: string): void
  /** How an attempt to send a delivery ended, or `late`. */
  attempted(channel: string, outcome: string): void
  /** `lagMs`: time since it was to be published. */
  published(channel: string, lagMs: number): void
}

export type PutOffReason = 'github' | 'contended' | 'store' | 'fault'

export interface HttpAnswer {
  /** The pattern of the route, not the path; null if there is none. */
  readonly route: string | null
  readonly method: string
  readonly status: number
  readonly ms: number
}

/** All metrics, as Prometheus reads them. */
export interface MetricsPage {
  readonly contentType: string
  text(): Promise<string>
}

const ignore = (): void => undefined

/** For the library, where nobody reads metrics. */
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
