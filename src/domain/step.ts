/**
 * A step: a named piece of a run's work whose result is stored. On a later attempt of the same
 * round the stored result is used, and the piece is not done again.
 *
 *            begin                      record
 *   (none) ─────────▶ started ─────────────────────────▶ done | failed
 *                      │   ▲ take over: another holder began it, and no result came
 *                      │   │
 *                 hold ▼   │ begin
 *                     held ──── a person: repeat ──▶ open
 *                      └─────── a person: confirm, fail; or a late result ──▶ done | failed
 *
 * What must hold: no effect starts before its `started` row is stored. A row is written by whoever
 * holds the run, with one exception: a result also counts after the lease was lost, as long as the
 * row still carries the start id and the lease of its sender. The effect has happened then, so it
 * must not be repeated. After a take-over a late result changes nothing. The start id alone is not
 * enough: workers choose it, and two of them can choose the same one. What a function returns after
 * it was told to stop is no result: it may be only a part.
 *
 * Pure. The row of a step is its own record: only doubt, late results and decisions are audited.
 */
import type { AuditDraft, AuditType } from './audit.ts'

export const stepStates = ['started', 'done', 'failed', 'held', 'open'] as const
export type StepState = (typeof stepStates)[number]

/** What happens to a step that was started and has no result. */
export const stepPolicies = ['repeat', 'confirm', 'hold'] as const
export type StepPolicy = (typeof stepPolicies)[number]

/** A name is part of a path, and `.` and `..` are not. */
export const stepNameForm = /^(?!\.{1,2}$)[A-Za-z0-9_.:-]{1,100}$/

/** Of a result, as JSON text in UTF-8. */
export const stepResultBytesMax = 256 * 1024
/** How long a run waits for a person's decision about a held step. */
export const heldStepMs = 7 * 24 * 60 * 60 * 1000

export interface Step {
  readonly runId: string
  readonly round: number
  readonly name: string
  /** Raised by every write; the store's compare-and-set. */
  readonly rev: number
  readonly state: StepState
  readonly policy: StepPolicy
  /** How often it was begun. */
  readonly attempt: number
  /** Of the holder that began it. */
  readonly fence: number
  /** The hash of the lease of the holder that began it. Empty: nobody's late result counts. */
  readonly leaseHash: string
  /** Names one beginning; chosen by the holder. Empty in the state `open`. */
  readonly startId: string
  readonly startedAt: number
  readonly endedAt: number | null
  /** JSON as text. */
  readonly result: string | null
  readonly errorCode: string | null
  readonly errorText: string | null
  /** The version of the code that began it; null if its holder names none. */
  readonly codeVersion: string | null
}

/** Who asks: the run under its present lease, or a holder that lost it (`fence` null). */
export interface StepActor {
  readonly runId: string
  readonly round: number
  readonly fence: number | null
  readonly leaseHash: string
  readonly actor: string
}

export type StepAction =
  | { readonly do: 'begin' | 'take-over'; readonly policy: StepPolicy }
  /** It was done before, although no result was stored: this is the result. */
  | { readonly do: 'confirm'; readonly result: string }
  | { readonly do: 'hold' }
  | { readonly do: 'record'; readonly result: string }
  /** Its function returned after it was told to stop, so its value may be only a part. */
  | { readonly do: 'stopped' }
  | { readonly do: 'fail'; readonly errorCode: string; readonly errorText: string }

export interface StepStart {
  readonly name: string
  readonly startId: string
  readonly codeVersion: string | null
}

/** What a step came to, for the commit that also ends its run. */
export interface StepResult extends StepStart {
  /** JSON as text. */
  readonly result: string
}

/**
 * `began`: do it now. `already`: this very call was made before. `known`: it has a result or an
 * error. `in-doubt`: an earlier holder began it and left no result. `late`: what counts is not what
 * this caller began under this start id, so its result changes nothing. `not-begun`: nobody began
 * it.
 */
export type StepReply =
  'began' | 'already' | 'known' | 'recorded' | 'held' | 'in-doubt' | 'late' | 'not-begun'

export interface StepDecision {
  readonly reply: StepReply
  /** As it should be; null if there is none. It has to be written if it is not the one given. */
  readonly step: Step | null
  readonly audits: readonly AuditDraft[]
}

export function decideStep(
  step: Step | null,
  action: StepAction,
  by: StepActor,
  start: StepStart,
  now: number,
): StepDecision {
  switch (action.do) {
    case 'begin':
      return begin(step, action.policy, by, start, now)
    case 'take-over':
      return takeOver(step, action.policy, by, start, now)
    case 'confirm':
      return settle(step, (open) => ({
        reply: 'recorded',
        step: { ...ended(open, now), ...ownStart(by, start), state: 'done', result: action.result },
        audits: [doubt(open, by), audit(open, by, 'step.confirmed', {})],
      }))
    case 'hold':
      // It keeps the start id of whoever began it, whose late result still counts.
      return settle(step, (open) => ({
        reply: 'held',
        step: { ...open, state: 'held' },
        audits: [doubt(open, by), audit(open, by, 'step.held', {})],
      }))
    case 'record':
      return record(step, by, start, { state: 'done', result: action.result }, now)
    case 'stopped':
      return stopped(step, by, start)
    case 'fail': {
      const { errorCode, errorText } = action
      return record(step, by, start, { state: 'failed', errorCode, errorText }, now)
    }
  }
}

function begin(
  step: Step | null,
  policy: StepPolicy,
  by: StepActor,
  start: StepStart,
  now: number,
): StepDecision {
  if (step === null || step.state === 'open') {
    return { reply: 'began', step: begun(step, policy, by, start, now), audits: [] }
  }
  if (hasEnded(step)) return { reply: 'known', step, audits: [] }
  const isOwn = step.state === 'started' && isBy(step, by, start)
  return { reply: isOwn ? 'already' : 'in-doubt', step, audits: [] }
}

function takeOver(
  step: Step | null,
  policy: StepPolicy,
  by: StepActor,
  start: StepStart,
  now: number,
): StepDecision {
  const found = begin(step, policy, by, start, now)
  if (found.reply !== 'in-doubt' || step === null) return found
  return {
    reply: 'began',
    step: begun(step, policy, by, start, now),
    audits: [doubt(step, by), audit(step, by, 'step.taken_over', { policy })],
  }
}

/** For what a holder says about a step that is in doubt. */
function settle(step: Step | null, settled: (open: Step) => StepDecision): StepDecision {
  if (step === null || step.state === 'open') return { reply: 'not-begun', step, audits: [] }
  if (hasEnded(step)) return { reply: 'known', step, audits: [] }
  return settled(step)
}

type Outcome = Pick<Step, 'state'> & Partial<Pick<Step, 'result' | 'errorCode' | 'errorText'>>

/** Whatever the state of the run is: only who began the row counts. */
function record(
  step: Step | null,
  by: StepActor,
  start: StepStart,
  outcome: Outcome,
  now: number,
): StepDecision {
  if (step === null) return { reply: 'not-begun', step, audits: [] }
  const { state } = step
  const late = (counted: boolean): AuditDraft =>
    audit(step, by, 'step.late', { state, counted, ...otherStartOf(step, by, start) })
  if (state === 'open' || !isBy(step, by, start)) {
    return { reply: 'late', step, audits: [late(false)] }
  }
  if (hasEnded(step)) return { reply: 'already', step, audits: [] }
  const recorded = { ...ended(step, now), ...outcome }
  return { reply: 'recorded', step: recorded, audits: by.fence === null ? [late(true)] : [] }
}

/** The step stays as it is. Only the audit says that its function has returned. */
function stopped(step: Step | null, by: StepActor, start: StepStart): StepDecision {
  if (step === null) return { reply: 'not-begun', step, audits: [] }
  const { state } = step
  const isOwn = step.startId === start.startId
  if (isOwn && hasEnded(step)) return { reply: 'already', step, audits: [] }
  const why = isOwn ? { told_to_stop: true } : otherStartOf(step, by, start)
  const data = { state, counted: false, ...why }
  return { reply: 'late', step, audits: [audit(step, by, 'step.late', data)] }
}

function begun(
  step: Step | null,
  policy: StepPolicy,
  by: StepActor,
  start: StepStart,
  now: number,
): Step {
  return {
    runId: by.runId,
    round: by.round,
    name: start.name,
    rev: step?.rev ?? 0,
    state: 'started',
    policy,
    attempt: (step?.attempt ?? 0) + 1,
    ...ownStart(by, start),
    startedAt: now,
    endedAt: null,
    result: null,
    errorCode: null,
    errorText: null,
  }
}

function ownStart(by: StepActor, { startId, codeVersion }: StepStart) {
  return { fence: by.fence ?? 0, leaseHash: by.leaseHash, startId, codeVersion }
}

/** Whether this very beginning is the sender's. */
export function isBy(
  step: Step,
  by: Pick<StepActor, 'fence' | 'leaseHash'>,
  { startId }: Pick<StepStart, 'startId'>,
): boolean {
  return isOfHolder(step, by) && step.startId === startId
}

/** Whether its holder began it itself, but under another start id than it names now. */
export function hasOtherStart(
  step: Step,
  by: Pick<StepActor, 'fence' | 'leaseHash'>,
  { startId }: Pick<StepStart, 'startId'>,
): boolean {
  return step.state !== 'open' && isOfHolder(step, by) && step.startId !== startId
}

const isOfHolder = (step: Step, by: Pick<StepActor, 'fence' | 'leaseHash'>): boolean =>
  step.leaseHash === by.leaseHash || step.fence === by.fence

const otherStartOf = (step: Step, by: StepActor, start: StepStart) =>
  hasOtherStart(step, by, start) ? { other_start: true } : {}

const hasEnded = ({ state }: Step): boolean => state === 'done' || state === 'failed'

const ended = (step: Step, now: number): Step => ({ ...step, endedAt: now })

const doubt = (step: Step, by: StepActor): AuditDraft =>
  audit(step, by, 'step.in_doubt', {
    begun_with_fence: step.fence,
    earlier_holder: step.fence !== by.fence,
  })

function audit(step: Step, by: StepActor, type: AuditType, more: AuditDraft['data']): AuditDraft {
  const { runId, name, round, attempt } = step
  return { type, actor: by.actor, runId, data: { step: name, round, attempt, ...more } }
}

/** What a person decides about a held step. */
export type HeldDecision =
  | { readonly do: 'confirm'; readonly result: string }
  | { readonly do: 'repeat' }
  | { readonly do: 'fail'; readonly text: string | null }

const decisionAudits = {
  confirm: 'operator.step_confirmed',
  repeat: 'operator.step_repeated',
  fail: 'operator.step_failed',
} as const satisfies Record<HeldDecision['do'], AuditType>

/** The step must be held. */
export function decideHeld(
  step: Step,
  decision: HeldDecision,
  actor: string,
  now: number,
): { readonly step: Step; readonly audit: AuditDraft } {
  const { runId, name, round, attempt } = step
  const data = { step: name, round, attempt }
  const type = decisionAudits[decision.do]
  return { step: heldStepAfter(step, decision, now), audit: { type, actor, runId, data } }
}

function heldStepAfter(step: Step, decision: HeldDecision, now: number): Step {
  switch (decision.do) {
    case 'confirm':
      return { ...ended(step, now), state: 'done', result: decision.result }
    case 'repeat':
      return { ...step, state: 'open', startId: '' }
    case 'fail': {
      const errorText = decision.text ?? 'a person decided that it failed'
      return { ...ended(step, now), state: 'failed', errorCode: 'step_failed', errorText }
    }
  }
}
