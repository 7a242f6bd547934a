/** The verbs for steps. */
import type { Step } from '../../domain/step.ts'
import type * as port from '../../store.ts'
import { listSteps, selectStep } from '../tables/step-table.ts'
import type { VerbContext } from '../verbs/context.ts'
import { needsSubject } from '../verbs/steps/act-on-steps.ts'
import { decideHeldStep } from '../verbs/steps/decide-step.ts'
import { actAlone } from '../verbs/steps/hold-step.ts'
import type { SqlBatches } from './sql-batches.ts'
import type { VerbRunner } from './verb-runner.ts'

export class SqlSteps implements port.StepStore {
  readonly #runner: VerbRunner
  readonly #context: VerbContext
  readonly #acts: SqlBatches['steps']

  constructor(runner: VerbRunner, acts: SqlBatches['steps']) {
    this.#runner = runner
    this.#context = runner.context
    this.#acts = acts
  }

  async act(request: port.StepRequest): Promise<port.StepAnswer> {
    const answer = request.action.do === 'hold' ? needsSubject : await this.#acts.ask(request)
    return 'needsSubject' in answer ? await this.#actAlone(request) : answer
  }

  async #actAlone(request: port.StepRequest): Promise<port.StepAnswer> {
    const answer = await this.#runner.inTurn(request.runId, () =>
      this.#runner.transact(() => actAlone(this.#context, request)),
    )
    if (answer instanceof Error) throw answer
    return answer
  }

  decide(
    request: port.DecideStepRequest,
    idempotencyKey: port.IdempotencyKey | null,
  ): Promise<port.DecidedStep> {
    return this.#runner.withKeyInTurn(request.runId, idempotencyKey, () =>
      decideHeldStep(this.#context, request),
    )
  }

  list(runId: string, round: number | null): Promise<readonly Step[]> {
    return this.#runner.read(() => listSteps(runId, round))
  }

  get(runId: string, name: string): Promise<Step | null> {
    return this.#runner.read(() => selectStep(runId, name))
  }
}
