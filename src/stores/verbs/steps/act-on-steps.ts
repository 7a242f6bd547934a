/**
 * What holders do with steps: many requests at once, in a fixed number of statements.
 *
 * Order of locks: runs (sorted, and only kept unchanged), then steps (sorted). While a run is kept
 * unchanged nobody can take it from its holder. Otherwise an old holder could begin a step while
 * the run is given to another one, which would not see that step and would do it again.
 *
 * What must hold: a result that counts is stored even if its sender lost the run. So the loss is an
 * answer, not an error that would undo the write.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { LossCode } from '../../../domain/hold.ts'
import type { Step, StepActor, StepDecision } from '../../../domain/step.ts'
import { decideStep, isBy } from '../../../domain/step.ts'
import type { ConflictError } from '../../../errors.ts'
import { runNotFound } from '../../../errors.ts'
import type { StepAnswer, StepRequest } from '../../../store.ts'
import type { BatchAnswer } from '../../sql-store/batcher.ts'
import type { Verb } from '../../sql.ts'
import { insertDecisions, type Decision } from '../../tables/audit-table.ts'
import type { RunHold } from '../../tables/run-table.ts'
import { selectHoldsUnchanged } from '../../tables/run-table.ts'
import {
  noteLateResult,
  selectStepBegunAs,
  selectSteps,
  stepMapKey,
  writeSteps,
} from '../../tables/step-table.ts'
import type { VerbContext } from '../context.ts'
import { knowsLease, lossError, lossOfLease } from '../runs/hold-run.ts'

/** The request changes the run too, so it has to be done alone, under the subject's lock. */
export const needsSubject = { needsSubject: true } as const

export type ActAnswer = StepAnswer | typeof needsSubject

export interface Asked {
  readonly request: StepRequest
  readonly run: RunHold
  /** How the sender lost the run; null while it holds the run. */
  readonly loss: LossCode | null
}

interface Decided extends Asked {
  readonly decision: StepDecision
  /** As it was before. */
  readonly found: Step | null
}

export function* actOnSteps(
  context: VerbContext,
  requests: readonly StepRequest[],
): Verb<BatchAnswer<ActAnswer>[]> {
  if (requests.length === 0) return []
  const ids = requests.map(({ runId }) => runId)
  const runs = yield* selectHoldsUnchanged(ids, context.dialect.keepUnchanged)
  return yield* actOnStepsOf(context, runs, requests)
}

/** The runs cannot change before this transaction ends, or are changed by it. */
export function* actOnStepsOf(
  context: VerbContext,
  runs: ReadonlyMap<string, RunHold>,
  requests: readonly StepRequest[],
): Verb<BatchAnswer<ActAnswer>[]> {
  if (requests.length === 0) return []
  const now = context.now()
  const asked = requests.map((request) => checkSender(request, runs.get(request.runId), now))
  const steps = yield* findSteps(asked.filter(isAsked))
  const decided = asked.map((one) => {
    if (one instanceof Error) return one
    const found = steps.get(stepMapKey(one.request)) ?? null
    return closesHeld(one.request, found) ? needsSubject : decideAsked(one, found, now)
  })
  const stored = yield* storeDecided(context, decided.filter(isDecided))
  return decided.map((one) => (isDecided(one) ? answerOf(one, stored.get(one) ?? null) : one))
}

const isAsked = (one: Asked | Error): one is Asked => !(one instanceof Error)
const isDecided = (one: Decided | Error | typeof needsSubject): one is Decided => 'decision' in one

/** Only a result is accepted from a sender that lost the run. */
export function checkSender(
  request: StepRequest,
  run: RunHold | undefined,
  now: number,
): Asked | Error {
  if (run === undefined) return runNotFound(request.runId)
  const loss = lossOfLease(run, request.leaseHash, now)
  if (loss === null) return { request, run, loss }
  return isResult(request) ? { request, run, loss } : lossError(run, loss)
}

/** What may be said about a step after its run was lost. */
export const isResult = ({ action }: StepRequest): boolean =>
  action.do === 'record' || action.do === 'fail' || action.do === 'stopped'

function closesHeld(request: StepRequest, found: Step | null): boolean {
  const isOver = request.action.do !== 'stopped' && isResult(request)
  return isOver && found?.state === 'held' && found.startId === request.startId
}

/** By `stepMapKey`. A batch has one request per key. */
export function* findSteps(asked: readonly Asked[]): Verb<Map<string, Step>> {
  const found = yield* selectSteps(
    asked.map(({ request, run }) => ({ ...request, round: run.round })),
  )
  for (const { request, run, loss } of asked) {
    // A result of an earlier round: its step is not in this one.
    if (loss === null || !isResult(request) || run.round === 1) continue
    const present = found.get(stepMapKey(request))
    if (present !== undefined && isBy(present, senderOf({ request, run, loss }), request)) continue
    const earlier = yield* selectStepBegunAs(request)
    if (earlier !== null) found.set(stepMapKey(request), earlier)
  }
  return found
}

function senderOf({ request, run, loss }: Asked): StepActor {
  return {
    runId: run.id,
    round: run.round,
    fence: loss === null ? run.fence : null,
    leaseHash: request.leaseHash,
    actor: request.actor,
  }
}

/** Who never held the run, or held it too long ago, is refused, unless it began this very step. */
export function decideAsked(
  asked: Asked,
  found: Step | null,
  now: number,
): Decided | ConflictError {
  const { request, run, loss } = asked
  const by = senderOf(asked)
  if (loss !== null && !knowsLease(run, request.leaseHash)) {
    if (found === null || !isBy(found, by, request)) return lossError(run, loss)
  }
  return { ...asked, found, decision: decideStep(found, request.action, by, request, now) }
}

/** Returns the steps that were written. */
function* storeDecided(
  context: VerbContext,
  decided: readonly Decided[],
): Verb<Map<Decided, Step>> {
  const changed = decided.flatMap((one) => {
    const { step } = one.decision
    return step === null || step === one.found ? [] : [{ one, step }]
  })
  const written = yield* writeSteps(changed.map(({ step }) => step))
  const audits: Decision[] = []
  for (const one of decided) {
    audits.push({ drafts: yield* auditsOf(one), causeId: one.run.fence })
  }
  yield* insertDecisions(audits, context.now())
  return new Map(changed.flatMap(({ one }, i) => (written[i] ? [[one, written[i]]] : [])))
}

/** A late result that changed nothing is audited once, however often it is sent. */
export function* auditsOf({ request, decision }: Decided): Verb<readonly AuditDraft[]> {
  const { reply, step, audits } = decision
  if (reply !== 'late' || step === null) return audits
  return (yield* noteLateResult(step, request)) ? audits : []
}

export function answerOf(
  { run, loss, decision }: Decided,
  stored: Step | null,
): StepAnswer | ConflictError {
  if (loss !== null) return lossError(run, loss)
  return { reply: decision.reply, step: stored ?? decision.step }
}
