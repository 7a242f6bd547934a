/**
 * What a route is: its template, its page in GitHub's reference, and its handler. A handler either
 * throws a Refusal before it changes anything, or does all of its work.
 */
import type { Identity } from '../auth.ts'
import type { Json } from '../json/json.ts'
import type { RateLimits } from '../rate-limit.ts'
import type { GitHubRequest } from '../request.ts'
import type { World } from '../state/world.ts'

export interface Call {
  readonly world: World
  readonly limits: RateLimits
  readonly request: GitHubRequest
  readonly params: Readonly<Record<string, string>>
  /** The parsed body; an empty object when there was none. */
  readonly body: unknown
  readonly identity: Identity
  /** Lists leave out what is younger than this. */
  readonly lagMs: number
}

export interface Reply {
  readonly status: number
  /** Undefined for an answer without a body. */
  readonly body?: Json | readonly Json[]
  readonly headers?: Readonly<Record<string, string>>
}

export interface Route {
  /** `POST /repos/{owner}/{repo}/statuses/{sha}`, as in GitHub's description. */
  readonly route: string
  /** Its documentation page, below https://docs.github.com/rest/. */
  readonly docs: string
  readonly handle: (call: Call) => Reply
}
