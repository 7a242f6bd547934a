/**
 * What the handler of a run does: its steps and outputs, by the seed. Each attempt of a round asks
 * for the same steps.
 */
import type { StepPolicy } from '../../domain/step.ts'
import type { SeededRandom } from '../seeded-random.ts'

export interface PlannedStep {
  readonly name: string
  readonly policy: StepPolicy
  readonly retries: number
  /** Null: no limit. */
  readonly timeoutMs: number | null
  /** The text of an output that follows the step. */
  readonly publishes: string | null
}

export interface WorkPlan {
  readonly steps: readonly PlannedStep[]
  readonly outcome: 'succeeded' | 'failed'
  readonly summary: string
}

export interface PlanOptions {
  readonly random: SeededRandom
  readonly isOnPullRequest: boolean
  /** A text that no other output has. */
  readonly text: (what: string) => string
}

export function makePlan({ random, isOnPullRequest, text }: PlanOptions): WorkPlan {
  const count = random.between(1, 4)
  const steps = Array.from({ length: count }, (_, index): PlannedStep => {
    const publishes = isOnPullRequest && random.chance(40)
    return {
      name: `step-${index + 1}`,
      policy: random.pick(['repeat', 'repeat', 'confirm', 'confirm', 'hold']),
      retries: random.between(0, 3),
      timeoutMs: random.chance(30) ? random.between(4000, 12_000) : null,
      publishes: publishes ? text('output of a step') : null,
    }
  })
  return {
    steps,
    outcome: random.chance(90) ? 'succeeded' : 'failed',
    summary: text('summary of a handler'),
  }
}
