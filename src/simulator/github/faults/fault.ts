/**
 * What a fault is. It decides whether and when GitHub does what a request asks, and what the sender
 * sees of the answer. You can write your own: any object of type `Fault`.
 */
import type { Scheduler } from '../../../scheduler.ts'
import type { LimitForm } from '../rate-limit.ts'
import type { Refusal } from '../refusal.ts'
import type { GitHubAnswer, GitHubRequest, ReceivedRequest } from '../request.ts'

/** What the sender of the request sees. */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: GitHubAnswer }
  /** The connection opened and broke without an answer. */
  | { readonly kind: 'reset' }
  /** The connection never opened. */
  | { readonly kind: 'refused' }
  /** No answer ever comes. */
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
  /** Does what was asked, once: a second call returns the same answer. `lagMs` makes lists lag. */
  perform(options?: { readonly lagMs?: number }): GitHubAnswer
  /** GitHub's refusal; nothing is done. */
  refuse(refusal: Refusal): GitHubAnswer
  /** The sender's hourly quota is used up for `forMs`. */
  exhaust(forMs: number): void
  /** The sender is blocked for `forMs`. */
  block(forMs: number, form: LimitForm): void
  /** Revokes all tokens made so far. */
  expireTokens(): void
}

export interface Fault {
  readonly name: string
  /** How many requests it hits unless the script says otherwise; 1 if absent. */
  readonly times?: number
  /** The connection never opens: GitHub receives nothing, and `run` is not called. */
  readonly neverOpens?: boolean
  run(exchange: Exchange): Outcome | Promise<Outcome>
  /** For faults that hold requests back: lets all of them continue. */
  release?(): void
}

export const answered = (answer: GitHubAnswer): Outcome => ({ kind: 'answer', answer })
