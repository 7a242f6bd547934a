/**
 * The settings as the program uses them: checked, complete and never changed again. Only the
 * command line and the library load them. Everything else is given this object.
 */
import type { ChannelConfig, CommandConfig, EventFilter } from '../config.ts'
import type { RetentionConfig, When } from '../config.ts'
import type { GitHubPermissions } from '../domain/github-permissions.ts'
import type { PublishRights } from '../domain/outbox/publish-rights.ts'
import type { Role } from '../domain/role.ts'
import type { OnNewer } from '../domain/run.ts'
import type { RunHandler } from '../run-handler.ts'
import type { StoreMode } from '../store.ts'
import type { OptionValues } from './options/options.ts'
import type { Database } from './options/value-kind.ts'

export interface Settings extends Omit<OptionValues, 'databaseUrl' | 'githubWebhookSecrets'> {
  /** Absolute. */
  readonly dataDir: string
  /** The path of a SQLite file is absolute, or `:memory:`. */
  readonly database: Database
  /** Empty when none was given. */
  readonly githubWebhookSecrets: readonly string[]
  /** `live` needs GitHub credentials and a webhook secret; otherwise `sandbox`. */
  readonly mode: StoreMode
  /** Whether this process executes runs itself. */
  readonly work: boolean
  /** The config file that was read; null when there is none. */
  readonly configFile: string | null
  readonly runs: Readonly<Record<string, RunTypeSettings>>
  readonly channels: Readonly<Record<string, ChannelConfig>>
  readonly retention: Readonly<Required<RetentionConfig>>
}

interface TriggerSettings {
  readonly on: EventFilter
  readonly rerunOn: EventFilter
  /** Null: every event passes. */
  readonly when: When | null
  /** Null: anybody. */
  readonly by: Role | null
  readonly own: boolean
}

export interface ExecutionSettings {
  readonly timeoutMs: number
  readonly pendingTimeoutMs: number
  readonly attempts: number
}

export interface RunTypeSettings extends TriggerSettings, ExecutionSettings {
  /** Who executes its runs. */
  readonly run: RunHandler | Required<CommandConfig> | 'remote'
  /** How many of its runs one process executes at a time. */
  readonly concurrency: number
  /** Null: the kind of the run decides, see `runPolicy`. */
  readonly onNewer: OnNewer | null
  readonly anchor: { readonly per: 'subject' | 'run' } | false
  /** Null: no commit status is written. */
  readonly statusContext: string | null
  /** Whether a GitHub App also writes a check run of the same name. */
  readonly check: boolean
  readonly publish: PublishSettings
  /** What the GitHub token of its runs may do. Never empty. */
  readonly permissions: GitHubPermissions
}

/** Whether a process with these settings executes runs itself. */
export function executesRuns({ work, runs }: Pick<Settings, 'work' | 'runs'>): boolean {
  return work && executedTypes({ runs }).length > 0
}

/** Run types with a function or a command, whether or not this process executes them. */
export function executedTypes({ runs }: Pick<Settings, 'runs'>): readonly string[] {
  return Object.keys(runs).filter((type) => runs[type]?.run !== 'remote')
}

export type PublishSettings = Omit<PublishRights, 'reserved'>
