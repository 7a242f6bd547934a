/**
 * Port: what the store knows of what was heard, so that catching up finds what was not. Part of the
 * store: each verb is one transaction.
 */
import type { HeardHead } from './domain/inbox.ts'

export interface CatchUpStore {
  /** Which of these GUIDs the inbox has. */
  knownWebhooks(webhookIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Heads that events of this lane named, the latest by GitHub's clock first. */
  heardHeads(filter: HeardFilter, limit: number): Promise<readonly HeardHead[]>
  /** Those that webhooks came from and that were worked on since; the last used first. */
  repositoriesInUse(since: number, limit: number): Promise<readonly UsedRepository[]>
}

export interface HeardFilter {
  readonly lane: string
  /** Without those that an event about something else carried. */
  readonly made?: boolean
}

export interface UsedRepository {
  /** As last heard. */
  readonly name: string
  readonly githubId: number
}
