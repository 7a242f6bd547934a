/**
 * The whole state of the simulated GitHub. Only functions of this folder change it, in one
 * synchronous step, so no request is ever half done.
 *
 * What must hold: times are stored by the given clock, and answers show them by GitHub's clock,
 * which is `aheadMs` ahead. Ids only grow.
 */
import type { Clock } from '../../../clock.ts'
import type { Random } from '../../../random.ts'
import type { App, Installation, Token } from './apps.ts'
import type { CheckRun } from './check-runs.ts'
import type { Comment } from './comments.ts'
import type { GitHubEvent } from './events.ts'
import type { Repository } from './repositories.ts'
import type { User } from './users.ts'

export interface World {
  readonly random: Random
  readonly aheadMs: number
  /** A status may name an unknown commit. */
  readonly anyCommit: boolean
  /** By lower-cased login. */
  readonly users: Map<string, User>
  readonly repositories: Map<number, Repository>
  /** Every name a repository has or had, lower-cased. */
  readonly names: Map<string, number>
  readonly comments: Map<number, Comment>
  readonly checkRuns: Map<number, CheckRun>
  app: App | null
  readonly installations: Map<number, Installation>
  readonly tokens: Map<string, Token>
  /** Ids of the accounts that ever had a token. */
  readonly tokenHolders: Set<number>
  readonly observers: Set<(event: GitHubEvent) => void>
  /** Index of the request that is being handled; null while a test acts itself. */
  request: number | null
  /** How often anything was changed. */
  readonly changes: number
  countChange(): void
  nextId(): number
  /** By the given clock. */
  nowMs(): number
  /** By GitHub's own clock. */
  githubNowMs(): number
  /** As GitHub writes it: by its own clock, in whole seconds. */
  stamp(ms: number): string
}

export interface WorldOptions {
  readonly clock: Clock
  readonly random: Random
  readonly aheadMs: number
  readonly anyCommit: boolean
}

export function createWorld({ clock, ...given }: WorldOptions): World {
  let lastId = 1_000_000
  let changes = 0
  return {
    ...given,
    users: new Map(),
    repositories: new Map(),
    names: new Map(),
    comments: new Map(),
    checkRuns: new Map(),
    app: null,
    installations: new Map(),
    tokens: new Map(),
    tokenHolders: new Set(),
    observers: new Set(),
    request: null,
    get changes() {
      return changes
    },
    countChange: () => {
      changes++
    },
    nextId: () => ++lastId,
    nowMs: () => clock.wallMs(),
    githubNowMs: () => clock.wallMs() + given.aheadMs,
    stamp: (ms) => new Date(ms + given.aheadMs).toISOString().replace(/\.\d+Z$/, 'Z'),
  }
}
