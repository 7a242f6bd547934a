/**
 * Holders complete runs: many at once, in a fixed number of statements.
 *
 * Order of locks: subjects (sorted), then runs (sorted), then deliveries.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import { shortFailure } from '../../../domain/failure-text.ts'
import type { Run } from '../../../domain/run.ts'
import { end } from '../../../domain/run.ts'
import { HoldfastError, runNotFound } from '../../../errors.ts'
import { sameHash } from '../../../secrets.ts'
import type { CompleteRequest, StepRequest } from '../../../store.ts'
import type { BatchAnswer } from '../../sql-store/batcher.ts'
import { cutText } from '../../../texts/cut-text.ts'
import type { Verb } from '../../sql.ts'
import { insertDecisions } from '../../tables/audit-table.ts'
import type { LockedRun, VerbContext } from '../context.ts'
import { lockRuns } from '../context.ts'
import { actOnSteps, actOnStepsOf } from '../steps/act-on-steps.ts'
import { checkHolder } from './hold-run.ts'
import { storeEnds, type RunEnd } from './store-ends.ts'

/** How much of a holder's text is kept in the audit. */
const auditTextMax = 500
/** How many steps are named in the audit. */
const auditStepsMax = 20

/** A request for a run whose subject another request of the batch has is deferred. */
export function* completeRuns(
  context: VerbContext,
  requests: readonly CompleteRequest[],
): Verb<BatchAnswer<Run>[]> {
  const locked = yield* lockRuns(
    context,
    requests.map(({ runId }) => runId),
  )
  const answers = new Map<CompleteRequest, BatchAnswer<Run>>()
  const ending = new Map<CompleteRequest, RunEnd>()
  /** The run was completed before with the same lease, perhaps by its run token. */
  const repeated: CompleteRequest[] = []
  const subjects = new Set<string>()
  for (const request of requests) {
    const found = locked.get(request.runId)
    if (found === undefined) answers.set(request, runNotFound(request.runId))
    else if (subjects.has(found.subject.id)) answers.set(request, 'deferred')
    else {
      subjects.add(found.subject.id)
      const decided = decideEnd(context, request, found)
      if ('ended' in decided) ending.set(request, decided)
      else answers.set(request, decided)
      if (!('ended' in decided) && !(decided instanceof Error)) repeated.push(request)
    }
  }
  const now = context.now()
  const notAskedFor = [...ending].flatMap(([request, { before }]) => {
    const causeId = before.run.fence
    return notAskedForAudits(request, before.run).map((draft) => ({ drafts: [draft], causeId }))
  })
  yield* insertDecisions(notAskedFor, now)
  const stored = ending.size === 0 ? [] : yield* storeEnds(context, [...ending.values()])
  const before = new Map([...ending.values()].map(({ before: { run } }) => [run.id, run]))
  yield* actOnStepsOf(context, before, [...ending.keys()].flatMap(lastResults))
  yield* actOnSteps(context, repeated.flatMap(lastResults))
  for (const [i, request] of [...ending.keys()].entries()) {
    const run = stored[i]
    if (run !== undefined) answers.set(request, run)
  }
  return requests.map((request) => answers.get(request) ?? 'deferred')
}

/**
 * They are decided by the run as it was before: the sender held it. They are written after the run,
 * as every step is.
 */
function lastResults({ runId, leaseHash, actor, stepResults = [] }: CompleteRequest) {
  return stepResults.map(({ result, ...step }): StepRequest => {
    return { ...step, runId, leaseHash, actor, action: { do: 'record', result } }
  })
}

/** The run itself if this holder completed it before. An error is the answer of one request. */
function decideEnd(
  context: VerbContext,
  request: CompleteRequest,
  before: LockedRun,
): RunEnd | Run | HoldfastError {
  const { run } = before
  const { leaseHash } = request
  if (run.completedLeaseHash !== null && sameHash(run.completedLeaseHash, leaseHash)) return run
  try {
    checkHolder(run, leaseHash, context.now())
  } catch (error) {
    if (error instanceof HoldfastError) return error
    throw error
  }
  const ended = end(run, { ...request, state: request.outcome }, context.now())
  const { outcome, verdict, round, attempt } = ended
  const data = {
    outcome,
    round,
    attempt,
    ...(verdict === null ? {} : { verdict }),
    ...(ended.errorCode === null ? {} : { code: ended.errorCode }),
    ...holderTextOf(ended),
  }
  const { outcome: named, actor } = request
  return {
    before,
    ended: { ...ended, completedLeaseHash: leaseHash },
    audit: { type: `run.${named}`, actor, runId: run.id, data },
    causeId: run.fence,
  }
}

/** Steps that were stored by another version of the code may be missing in this one. */
function notAskedForAudits(
  { actor, stepsNotAskedFor }: CompleteRequest,
  { id: runId, round, attempt }: Run,
): AuditDraft[] {
  if (stepsNotAskedFor === undefined || stepsNotAskedFor.steps.length === 0) return []
  const { steps, codeVersion } = stepsNotAskedFor
  const versions = new Set(steps.map((step) => step.codeVersion))
  const data = {
    steps: steps.slice(0, auditStepsMax).map(({ name }) => name),
    count: steps.length,
    recorded_with: [...versions].slice(0, auditStepsMax),
    code_version: codeVersion,
    round,
    attempt,
  }
  return [{ type: 'step.not_asked_for', actor, runId, data }]
}

/**
 * Why it failed or was skipped in the holder's words, cut. It is audited because the next round
 * removes it from the run.
 */
function holderTextOf(run: Run): { readonly [name: string]: string } {
  const { state, errorCode, errorText, description, summary } = run
  if (state !== 'failed' && state !== 'skipped') return {}
  const text = errorText ?? (state === 'skipped' ? description : null)
  if (text !== null) return { text: shortFailure(errorCode, text, auditTextMax) }
  const line = summary?.split('\n').find((one) => one.trim() !== '')
  return line === undefined ? {} : { summary: cutText(line.trim(), auditTextMax) }
}
