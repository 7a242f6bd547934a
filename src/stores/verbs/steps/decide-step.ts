/** A person's decision about a held step. The run is pending again, in the same attempt. */
import { isActive } from '../../../domain/run.ts'
import { decideHeld } from '../../../domain/step.ts'
import { ConflictError, stepNotFound } from '../../../errors.ts'
import type { DecidedStep, DecideStepRequest } from '../../../store.ts'
import type { Verb } from '../../sql.ts'
import { selectStep } from '../../tables/step-table.ts'
import type { VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { goOn, storeWithRun } from './hold-step.ts'

export function* decideHeldStep(
  context: VerbContext,
  request: DecideStepRequest,
): Verb<DecidedStep> {
  const { runId, name, decision, actor } = request
  const locked = yield* lockRun(context, runId)
  const { run } = locked
  const held = yield* selectStep(runId, name)
  if (held === null) throw stepNotFound(runId, name)
  if (held.state !== 'held') {
    const is = `step "${name}" of run ${runId} is ${held.state}`
    throw new ConflictError('step_not_held', `${is}, and only a held step can be decided`, {
      hint: 'Somebody may have decided already.',
    })
  }
  if (!isActive(run)) {
    throw new ConflictError('not_active', `run ${runId} has already ended: ${run.state}`, {
      hint: 'A decision about its step would change nothing. A rerun begins without steps.',
    })
  }
  const now = context.now()
  const { step, audit } = decideHeld(held, decision, actor, now)
  const after = { run: goOn(run, step, now), step, audits: [audit] }
  return yield* storeWithRun(context, locked, after)
}
