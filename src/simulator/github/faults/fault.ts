/**
 * What a fault is: its own way through one exchange. It may let GitHub do what was asked or not,
 * now or later, and says what becomes of the answer. A fault of your own is an object like these.
 */
import type { Scheduler } from '../../../scheduler.ts'
import type { LimitForm } from '../rate-limit.ts'
import type { Refusal } from '../refusal.ts'
import type { GitHubAnswer, GitHubRequest, ReceivedRequest } from '../request.ts'

/** What the one who asked gets to see. */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: GitHubAnswer }
  /** The connection opened and broke without an answer. */
  | { readonly kind: 'reset' }
  /** The connection never opened. */
  | { readonly kind: 'refused' }
  /** Nothing comes, ever. */
  | { readonly kind: 'hang' }
  /** The body comes in parts, a pause before each; `cut` breaks it off in the middle. */
  | {
      readonly kind: 'slow-body'
      readonly answer: GitHubAnswer
      readonly parts: number
      readonly pauseMs: number
      readonly cut: boolean
    }

export interface Exchange {
  readonly request: GitHubRequest
  readonly received: ReceivedRequest
  readonly scheduler: Scheduler
  /** Does what was asked, once: a second call has the same answer. Lists may lag behind. */
  perform(options?: { readonly lagMs?: number }): GitHubAnswer
  /** GitHub's answer without having done anything. */
  refuse(refusal: Refusal): GitHubAnswer
  /** The quota of whoever asks is used up for so long. */
  exhaust(forMs: number): void
  /** Whoever asks is blocked for so long. */
  block(forMs: number, form: LimitForm): void
  /** No token that was made so far opens anything any more. */
  expireTokens(): void
}

export interface Fault {
  readonly name: string
  /** How often it is played unless the script says otherwise; 1 if absent. */
  readonly times?: number
  /** The connection never opens: GitHub knows nothing of it, and `run` is not asked. */
  readonly neverOpens?: boolean
  run(exchange: Exchange): Outcome | Promise<Outcome>
  /** For faults that hold requests back: lets go of all that are held. */
  release?(): void
}

export const answered = (answer: GitHubAnswer): Outcome => ({ kind: 'answer', answer })
