/**
 * Port: the steps of runs. What a holder does with a step is one transaction, decided by
 * domain/step.ts. Requests that arrive together share a commit.
 */
import type { Run } from '../domain/run.ts'
import type { HeldDecision, Step, StepAction, StepReply, StepStart } from '../domain/step.ts'
import type { IdempotencyKey } from './idempotency-key.ts'

export interface StepStore {
  /**
   * Throws the ConflictError that tells the holder to stop if it does not hold the run. A result
   * that it sends may be stored all the same: see domain/step.ts.
   */
  act(request: StepRequest): Promise<StepAnswer>
  /** A person's decision about a held step. The run is pending again after it. */
  decide(request: DecideStepRequest, idempotencyKey: IdempotencyKey | null): Promise<DecidedStep>
  /**
   * In the order in which they were begun; without results, and at most 1,000. `round` null: the
   * present round.
   */
  list(runId: string, round: number | null): Promise<readonly Step[]>
  /** Of the present round. */
  get(runId: string, name: string): Promise<Step | null>
}

export interface StepRequest extends StepStart {
  readonly runId: string
  readonly leaseHash: string
  readonly actor: string
  readonly action: StepAction
}

export interface StepAnswer {
  readonly reply: StepReply
  /** Null if nobody began it. */
  readonly step: Step | null
}

export interface DecideStepRequest {
  readonly runId: string
  readonly name: string
  readonly actor: string
  readonly decision: HeldDecision
}

export interface DecidedStep {
  readonly step: Step
  readonly run: Run
}
