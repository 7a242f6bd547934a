/**
 * The shape of `holdfast.config.ts`, for the person who writes one. Everything is optional. If a
 * file leaves something out, it has the default named here. `defineConfig` only adds the types. The
 * file is checked when it is loaded.
 */
import type { ChannelName } from './channels/github-channels.ts'
import type { Role } from './domain/role.ts'
import type { OnNewer } from './domain/run.ts'
import type { RunHandler } from './run-handler.ts'
import type { githubPermissions } from './settings/config-file/github-permissions.ts'
import type { PlainSettings } from './settings/options/options.ts'

export interface Config extends PlainSettings {
  /**
   * Run types by name. Default: the type `review`, executed by a remote worker. If a file names
   * `review`, it keeps the default `on`, `rerunOn` and `when` unless the file gives others.
   */
  readonly runs?: Readonly<Record<string, RunTypeConfig>>
  /** How single channels behave, by channel name. */
  readonly channels?: Readonly<Partial<Record<ChannelName, ChannelConfig>>>
  readonly retention?: RetentionConfig
}

/** GitHub event names, each with its actions. An empty list means every action. */
export type EventFilter = Readonly<Record<string, readonly string[]>>

export interface IncomingEvent {
  /** GitHub's event name, such as `pull_request`. */
  readonly name: string
  readonly action: string | null
  readonly repo: string
  readonly sender: string
  /** The webhook's body as GitHub sent it. Its form differs per event, so it is not typed here. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly payload: any
}

/** True starts a run. False or a text does not, and the text is shown as the reason. */
export type When = (event: IncomingEvent) => boolean | string

interface TriggerConfig {
  /** Events that start a run. Default: none, only a claim does; `review` has its own default. */
  readonly on?: EventFilter
  /** Events that start a run again, even if it has finished. They may also be in `on`. */
  readonly rerunOn?: EventFilter
  readonly when?: When
  /** The lowest role that the sender needs in the repository. Default: none is needed. */
  readonly by?: Role
  /** Whether pull requests of Holdfast's own account start a run. Default: false. */
  readonly own?: boolean
}

interface ExecutionLimits {
  /** Milliseconds that one holder may work; then the run fails. Default: 3,600,000. */
  readonly timeoutMs?: number
  /** Milliseconds it may wait for a worker; then it fails with `no_worker`. Default: 3,600,000. */
  readonly pendingTimeoutMs?: number
  /** Holders that may be lost in one round before it fails. Default: 3. */
  readonly attempts?: number
}

export interface RunTypeConfig extends TriggerConfig, ExecutionLimits {
  /**
   * Who executes its runs: a function, a command, or `remote` (the default), where workers lease
   * them over HTTP.
   */
  readonly run?: RunHandler | CommandConfig | 'remote'
  /** How many of its runs one process executes at a time. Default: 4. */
  readonly concurrency?: number
  /** What a newer run does to the active one. Default: supersede for pull requests, else queue. */
  readonly onNewer?: OnNewer
  /** One comment per subject (default) or per run; false publishes none. */
  readonly anchor?: { readonly per: 'subject' | 'run' } | false
  /**
   * The commit status, by default under `holdfast/TYPE`; no two types may share a context. An App
   * writes a check run of the same name as well, unless `check` is false. False writes neither.
   */
  readonly status?: { readonly context?: string; readonly check?: boolean } | false
  /** What else its runs may publish. Default: comments, and reviews that only comment. */
  readonly publish?: PublishConfig
  /**
   * What the GitHub token of its runs may do. Default: `contents`, `issues` and `pull_requests`,
   * each `read`.
   */
  readonly permissions?: PermissionsConfig
}

type GitHubPermissionLevels = typeof githubPermissions

/** GitHub's own names of permissions and levels. The GitHub App must have them too. */
export type PermissionsConfig = {
  readonly [Name in keyof GitHubPermissionLevels]?: GitHubPermissionLevels[Name][number]
}

/**
 * A command that executes runs. It is started without a shell in the folder of the config file, and
 * gets the run in environment variables and files. Exit code 0 means succeeded, 78 skipped, any
 * other failed.
 */
export interface CommandConfig {
  /** The program and its arguments. */
  readonly command: readonly string[]
  /**
   * Names of environment variables that it may see, besides PATH, HOME, LANG and TMPDIR. Their
   * values are hidden in what it prints.
   */
  readonly env?: readonly string[]
}

/** No run may publish under the status context of a run type, not even of its own type. */
export interface PublishConfig {
  /** Default: comments and reviews, and what `contexts` and `labels` need. */
  readonly channels?: readonly ChannelName[]
  /** Status contexts and check names; `ci/*` allows all that begin with `ci/`. Default: none. */
  readonly contexts?: readonly string[]
  /** Labels to set and remove; `size/*` allows all that begin with `size/`. Default: none. */
  readonly labels?: readonly string[]
  /** Whether its reviews may approve or request changes. Default: false. */
  readonly approve?: boolean
}

export interface ChannelConfig {
  /** When something that failed is sent again. */
  readonly retry?: RetryConfig
}

/** Default: after 1, 2 and 4 seconds, then with growing waits until the deadline. */
export interface RetryConfig {
  /** How often it is sent again; then it is FAILED. Default: until the deadline. */
  readonly maxRetries?: number
  /** Milliseconds before the first retry. Default: 1000. */
  readonly initialMs?: number
  /** Each wait is this many times the one before. Default: 2. */
  readonly factor?: number
  /** Milliseconds of the longest wait. Default: 900,000. */
  readonly maxMs?: number
}

/** Days after which things are removed. */
export interface RetentionConfig {
  /** Default: 30. */
  readonly finishedDays?: number
  /** Default: 7. */
  readonly supersededDays?: number
  /** Default: 7. At least 4, because GitHub can send a webhook again for 3 days. */
  readonly inboxDays?: number
  /** Default: 90. */
  readonly auditDays?: number
}

export function defineConfig(config: Config): Config {
  return config
}
