/**
 * Changes of a step that also change its run: a step in doubt is held for a person, and a late
 * result of a held step lets the run go on. Each is done alone, under the subject's lock.
 *
 * Order of locks: subject, run, step.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { Run } from '../../../domain/run.ts'
import { holdForPerson, isHeldForPerson, makePending } from '../../../domain/run.ts'
import type { Step } from '../../../domain/step.ts'
import { heldStepMs } from '../../../domain/step.ts'
import type { ConflictError } from '../../../errors.ts'
import { sameHash } from '../../../secrets.ts'
import type { StepAnswer, StepRequest } from '../../../store.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { insertDecision } from '../../tables/audit-table.ts'
import { selectHoldsUnchanged, writeRuns } from '../../tables/run-table.ts'
import { stepMapKey, writeSteps } from '../../tables/step-table.ts'
import type { LockedRun, VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { announceAgain } from '../outbox/announce.ts'
import {
  answerOf,
  type Asked,
  auditsOf,
  checkSender,
  decideAsked,
  findSteps,
} from './act-on-steps.ts'

/** The loss of a lease is an answer here, because the result of a lost holder may be stored. */
export function* actAlone(
  context: VerbContext,
  request: StepRequest,
): Verb<StepAnswer | ConflictError> {
  const locked = yield* lockRun(context, request.runId)
  const { run } = locked
  const now = context.now()
  const asked = checkSender(request, run, now)
  if (asked instanceof Error) {
    const repeated = yield* repeatedHold(request, run)
    if (repeated === null) throw asked
    return repeated
  }
  const found = yield* stepOf(asked)
  const decided = decideAsked(asked, found, now)
  if (decided instanceof Error) return decided
  const { step, audits } = decided.decision
  if (step === null || step === found) {
    yield* insertDecision(yield* auditsOf(decided), run.fence, now)
    return answerOf(decided, null)
  }
  const after = step.state === 'held' ? holdForPerson(run, now + heldStepMs) : goOn(run, step, now)
  const { step: stored } = yield* storeWithRun(context, locked, { run: after, step, audits })
  return answerOf(decided, stored)
}

function* stepOf(asked: Asked): Verb<Step | null> {
  return (yield* findSteps([asked])).get(stepMapKey(asked.request)) ?? null
}

/** Its answer was lost: the hold itself took the lease from its sender. */
function* repeatedHold(request: StepRequest, run: Run): Verb<StepAnswer | null> {
  const [last = ''] = run.pastLeaseHashes.split(' ')
  const isHolders = request.action.do === 'hold' && isHeldForPerson(run)
  if (!isHolders || !sameHash(last, request.leaseHash)) return null
  const step = yield* stepOf({ request, run, loss: 'lease_lost' })
  return step?.state === 'held' ? { reply: 'held', step } : null
}

/** The run after its held step was closed: pending again, in the same attempt. */
export function goOn(run: Run, step: Step, now: number): Run {
  return isHeldForPerson(run) && step.round === run.round ? makePending(run, now) : run
}

/** Purging does not need the subject's lock. */
function* keepRun({ dialect }: VerbContext, { id }: Run): Verb<void> {
  const kept = yield* selectHoldsUnchanged([id], dialect.keepUnchanged)
  if (!kept.has(id)) throw new LostRace('the run was purged')
}

export interface StepWithRun {
  readonly run: Run
  readonly step: Step
  readonly audits: readonly AuditDraft[]
}

/**
 * `after`: as they should be. If the run changes, the last audit row of the decision says its new
 * state, and the id of that row is its new fence.
 */
export function* storeWithRun(
  context: VerbContext,
  { run, subject }: LockedRun,
  after: StepWithRun,
): Verb<{ readonly run: Run; readonly step: Step }> {
  const audits = after.audits.map((audit, i) => {
    const isAboutRun = after.run !== run && i === after.audits.length - 1
    return isAboutRun ? { ...audit, data: { ...audit.data, run_state: after.run.state } } : audit
  })
  const ids = yield* insertDecision(audits, run.fence, context.now())
  const fence = ids.at(-1) ?? run.fence
  const changes = after.run === run ? [] : [{ ...after.run, fence }]
  const [changed] = yield* writeRuns(changes, { was: [run] })
  if (changed === undefined) yield* keepRun(context, run)
  const [step] = yield* writeSteps([after.step])
  if (changed !== undefined) yield* announceAgain(context, { subject }, changed, fence)
  return { run: changed ?? run, step: step ?? after.step }
}
