/** How a holder says that its run ended. */
import type { Outcome, Verdict } from './run.ts'
import type { StepResult } from './step.ts'

/** Of a summary, as UTF-8, whichever way it comes: over HTTP, from a function or in a file. */
export const summaryBytesMax = 256 * 1024

export interface Completion {
  readonly outcome: Outcome
  readonly verdict?: Verdict | undefined
  readonly summary?: string | undefined
  readonly description?: string | undefined
  readonly targetUrl?: string | undefined
  /** Any JSON value. */
  readonly result?: unknown
  readonly error?: { readonly code: string; readonly text: string } | undefined
  /** Results that are not stored yet. They are stored in the same commit. */
  readonly stepResults?: readonly StepResult[] | undefined
  /** Steps that an earlier attempt stored and this one did not ask for. */
  readonly stepsNotAskedFor?: StepsNotAskedFor | undefined
}

export interface StepsNotAskedFor {
  readonly steps: readonly { readonly name: string; readonly codeVersion: string | null }[]
  readonly codeVersion: string | null
}
