/**
 * What a simulated GitHub is made with. All of it has a default: `createGitHubSimulator()` takes
 * any token and goes by the machine's clock.
 */
import type { Clock } from '../../clock.ts'
import type { Random } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { ContentLimits } from './rate-limit.ts'
import type { Permissions } from './state/apps.ts'

export interface SimulatedAppOptions {
  readonly id: number
  readonly slug: string
  readonly clientId?: string
  /** PEM of the App's private key, or of the public one that belongs to it. */
  readonly privateKey?: string
  readonly publicKey?: string
  /** Write access to all that the routes need, if absent. */
  readonly permissions?: Permissions
  readonly events?: readonly string[]
}

export interface GitHubSimulatorOptions {
  readonly clock?: Clock
  readonly scheduler?: Scheduler
  /** With the same one, two simulators that are asked the same say the same. */
  readonly random?: Random
  /** Installed for every owner of a repository. */
  readonly app?: SimulatedAppOptions
  readonly tokens?: readonly { readonly token: string; readonly login: string }[]
  /**
   * Any token that nobody has is the first account's of `tokens`, or `holdfast-bot`'s. True when
   * there are neither `tokens` nor an `app`.
   */
  readonly acceptAnyToken?: boolean
  /** How far GitHub's clock is ahead of `clock`. */
  readonly aheadMs?: number
  /**
   * A status or check may go to a commit nobody told of; true if absent. One that was added with
   * `visibleAt` is not seen before, in either case.
   */
  readonly anyCommit?: boolean
  /** Refuse writes beyond these, as GitHub's secondary limits do. None if absent. */
  readonly limits?: ContentLimits
}
