/**
 * The shape of `holdfast.config.ts`, for the person who writes one. Everything is optional; what a
 * file leaves out has the default named here. `defineConfig` only lends its types: the file is
 * checked when it is loaded, with the same rules.
 */
import type { ChannelName } from './channels/github-channels.ts'
import type { Role } from './domain/role.ts'
import type { OnNewer } from './domain/run.ts'
import type { PlainSettings } from './settings/options.ts'

export interface Config extends PlainSettings {
  /**
   * Run types by name. Left out: the type `review`, executed by a remote worker. A file that names
   * `review` keeps its `on`, `rerunOn` and `when` unless it gives others.
   */
  readonly runs?: Readonly<Record<string, RunTypeConfig>>
  /** How single channels behave, by channel name. */
  readonly channels?: Readonly<Partial<Record<ChannelName, ChannelConfig>>>
  readonly retention?: RetentionConfig
}

/** GitHub event names, each with the actions that count; an empty list counts every action. */
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

/** True starts it; false or a text does not, and the text is shown as the reason. */
export type When = (event: IncomingEvent) => boolean | string

interface TriggerConfig {
  /** What starts it. Default: nothing but a claim; for `review` what it has without a file. */
  readonly on?: EventFilter
  /** What makes a finished one start again, also an event that `on` names too. */
  readonly rerunOn?: EventFilter
  readonly when?: When
  /** Least role the sender must have in the repository. Default: anybody's event counts. */
  readonly by?: Role
  /** Whether pull requests of our own account start it. Default: false. */
  readonly own?: boolean
}

interface ExecutionLimits {
  /** Milliseconds one holder may work; then it fails. Default: 3,600,000. */
  readonly timeoutMs?: number
  /** Milliseconds it may wait for a worker; then it fails with `no_worker`. Default: 3,600,000. */
  readonly pendingTimeoutMs?: number
  /** Holders that may be lost in one round before it fails. Default: 3. */
  readonly attempts?: number
}

export interface RunTypeConfig extends TriggerConfig, ExecutionLimits {
  /** `remote`, the default: workers lease its runs over HTTP. */
  readonly run?: 'remote'
  /** What a newer run does to the active one. Default: supersede for pull requests, else queue. */
  readonly onNewer?: OnNewer
  /** One comment per subject (default) or per run; false publishes none. */
  readonly anchor?: { readonly per: 'subject' | 'run' } | false
  /**
   * The commit status, by default under `holdfast/TYPE`; no two types may share a context. An App
   * writes a check run of the same name as well, unless `check` is false. False writes neither.
   */
  readonly status?: { readonly context?: string; readonly check?: boolean } | false
  /** What its runs may publish beside that. Default: comments, and reviews that only comment. */
  readonly publish?: PublishConfig
}

/** No run may publish under a context that shows the result of a run type, its own included. */
export interface PublishConfig {
  /** Default: comments and reviews, and what `contexts` and `labels` need. */
  readonly channels?: readonly ChannelName[]
  /** Contexts of statuses, names of check runs; `ci/*` allows all that begin so. Default: none. */
  readonly contexts?: readonly string[]
  /** Labels it may set and remove; `size/*` allows all that begin so. Default: none. */
  readonly labels?: readonly string[]
  /** Whether its reviews may approve or request changes. Default: false. */
  readonly approve?: boolean
}

export interface ChannelConfig {
  /** When something that failed is sent again. */
  readonly retry?: RetryConfig
}

/** Default: after 1, 2 and 4 seconds, then ever more rarely until the deadline. */
export interface RetryConfig {
  /** How often it is sent again; then it has FAILED. Default: until the deadline. */
  readonly maxRetries?: number
  /** Milliseconds before the first retry. Default: 1000. */
  readonly initialMs?: number
  /** By how much each wait is longer than the one before. Default: 2. */
  readonly factor?: number
  /** Milliseconds that no wait exceeds. Default: 900,000. */
  readonly maxMs?: number
}

/** Days after which things are removed. */
export interface RetentionConfig {
  /** Default: 30. */
  readonly finishedDays?: number
  /** Default: 7. */
  readonly supersededDays?: number
  /** Default: 7; at least 4, because a delivery can be sent again by hand for 3 days. */
  readonly inboxDays?: number
  /** Default: 90. */
  readonly auditDays?: number
}

export function defineConfig(config: Config): Config {
  return config
}
