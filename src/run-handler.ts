/**
 * A run handler: the function of a run type in `holdfast.config.ts`, and what it is given. These
 * are types for the person who writes one.
 */
import type { Output, Published } from './channels/own-output.ts'
import type { Verdict } from './domain/run.ts'
import type { RunGitHub } from './github/run-client.ts'
import type { Log } from './log.ts'

export type RunHandler = (
  run: RunContext,
) => HandlerResult | void | Promise<HandlerResult> | Promise<void>

/** How the run ended. A handler that returns nothing has succeeded; one that throws has failed. */
export interface HandlerResult {
  /** Default: `succeeded`. */
  readonly outcome?: 'succeeded' | 'failed' | 'skipped'
  /** What the work found. It decides the commit status. Default: success. */
  readonly verdict?: Verdict
  /** Markdown, shown in the comment. */
  readonly summary?: string
  /** One sentence for the commit status. */
  readonly description?: string
  readonly targetUrl?: string
  /** Any JSON, for programs: at most 256 KB. */
  readonly result?: unknown
  readonly error?: { readonly code: string; readonly text: string }
}

/** A run, and what its handler may do. After the run is lost or has ended, every call throws. */
export interface RunContext {
  readonly id: string
  readonly key: string
  readonly type: string
  readonly subject: string
  readonly repo: string | null
  readonly pr: number | null
  readonly baseSha: string | null
  readonly headSha: string | null
  readonly attempt: number
  readonly round: number
  /** What the claim gave: any JSON. */
  readonly input: unknown
  readonly feedback: string | null
  readonly trigger: {
    readonly event: string | null
    readonly action: string | null
    readonly sender: string | null
  }
  /** What was last finished on the same subject. Null when nothing was. */
  readonly previous: {
    readonly runId: string
    readonly headSha: string | null
    readonly verdict: Verdict | null
  } | null

  /**
   * Does a piece of the work once. Its result is stored: if the run is taken up again after a
   * crash, `run.step` returns the stored result and does not call the function. A name is used
   * once per run. The result must be JSON of at most 256 KB; what is returned is what JSON keeps.
   */
  step<T>(name: string, work: StepWork<T>): Promise<T>
  step<T>(name: string, options: StepOptions<T>, work: StepWork<T>): Promise<T>
  /** Says in 1 to 100 characters how the work goes. It is shown in the comment. */
  status(text: string): Promise<void>
  /** Publishes something of the run's own on GitHub, once per name and round. */
  publish(name: string, output: Output): Promise<Published>
  /** Octokit with a token for the run's repository, narrowed to the type's `permissions`. */
  readonly github: RunGitHub
  /**
   * Aborts when the work has to stop: superseded, cancelled, lost, timed out, shutting down. What
   * is returned after that does not count. It also aborts when the handler has returned or thrown.
   */
  readonly signal: AbortSignal
  /** Log lines with the run's id and type. */
  readonly log: Log
}

export type StepWork<T> = (call: StepCall) => T | Promise<T>

export interface StepCall {
  /**
   * The same for every attempt of this step. Pass it on as an idempotency key, so that the other
   * side can recognise a repeat.
   */
  readonly key: string
  /** Aborts when the run is lost or the step takes longer than its `timeoutMs`. */
  readonly signal: AbortSignal
}

export interface StepOptions<T = unknown> {
  /**
   * What happens if the step was begun before and its result was never stored, because a process
   * died. `repeat` (default) does it again with the same key. `confirm` asks `confirm` whether it
   * was done. `hold` lets a person decide: holdfast runs steps RUN.
   */
  readonly inDoubt?: 'repeat' | 'confirm' | 'hold'
  /** Required with `inDoubt: 'confirm'`: looks whether the step was done. */
  readonly confirm?: (
    call: StepCall,
  ) => { readonly done: T } | 'not-done' | Promise<{ readonly done: T } | 'not-done'>
  /** How often a function that throws is called again. Default: 2, after 1 and 2 seconds. */
  readonly retries?: number
  /** After so many milliseconds its signal aborts. Default: no limit but the run's. */
  readonly timeoutMs?: number
}
