/**
 * Steps in words: a clause for each audit type that is about one, and what a run with a held step
 * waits for.
 */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { Run } from '../../domain/run.ts'
import { heldStepMs, type Step } from '../../domain/step.ts'
import {
  actorWords,
  atStart,
  cleanText,
  quoted,
  runWords,
  textOf,
  timeWords,
  workerWords,
} from './names.ts'

interface StepAbout {
  /** Null if the run was removed. */
  readonly run: Run | null
  /** Who did it. */
  readonly who: string | null
}

type Words = (row: AuditRow, about: StepAbout) => string

type StepType = Extract<AuditType, `step.${string}` | `operator.step_${string}`>

export const stepRowWords: Readonly<Record<StepType, Words>> = {
  'step.in_doubt': (row, { run }) =>
    `It is not known whether ${step(row)}${ofRun(run)} was done: it was begun, and no result came`,
  'step.taken_over': (row, { who }) =>
    `${atStart(who ?? 'its worker')} began ${step(row)} again, with the same key`,
  'step.confirmed': (row, { who }) =>
    `${atStart(who ?? 'its worker')} found that ${step(row)} was done`,
  'step.held': (row) => `A person has to decide about ${step(row)}; until then the run waits`,
  'step.late': (row) =>
    row.data['counted'] === true
      ? `A result of ${step(row)} came after its holder had lost the run. It was stored`
      : `A result of ${step(row)} came after the step was begun again. It was ignored`,
  'step.not_asked_for': (row, { run }) =>
    `The code that finished ${run === null ? 'the run' : runWords(run)} did not ask for ` +
    `${step(row)}, which is stored. The code may have changed`,
  'operator.step_confirmed': (row, { who }) =>
    `${atStart(who ?? 'somebody')} decided that ${step(row)} was done`,
  'operator.step_repeated': (row, { who }) =>
    `${atStart(who ?? 'somebody')} decided that ${step(row)} was not done, so it is repeated`,
  'operator.step_failed': (row, { who }) => {
    const text = textOf(row, 'text')
    return `${atStart(who ?? 'somebody')} let ${step(row)} fail${text === null ? '' : `: ${quoted(text)}`}`
  },
}

const step = (row: AuditRow): string => stepWords(textOf(row, 'step') ?? '')
const stepWords = (name: string): string => (name === '' ? 'a step' : `the step ${cleanText(name)}`)
const ofRun = (run: Run | null): string => (run === null ? '' : ` of ${runWords(run)}`)

interface Known {
  readonly now: number
  readonly rows: readonly AuditRow[]
  readonly tokenNames: ReadonlyMap<string, string>
}

/** Follows the name of its run; several sentences, without the last full stop. */
export function heldStepWords({ dueAt }: Run, held: Step, known: Known): string {
  const time = (at: number): string => timeWords(at, known.now)
  const [since, end] =
    dueAt === null
      ? ['', '']
      : [
          ` since ${time(dueAt - heldStepMs)}`,
          `. If nobody decides by ${time(dueAt)}, the run fails (step_unresolved)`,
        ]
  return (
    `waits for a person's decision${since}: it is not known whether ${stepWords(held.name)} was ` +
    `done. ${atStart(beginnerWords(held, known))} began it at ${time(held.startedAt)} under the ` +
    `policy ${held.policy}, and no result came${end}`
  )
}

/** The holder that began it. */
function beginnerWords({ fence }: Step, { rows, tokenNames }: Known): string {
  const lease = rows.find(({ id }) => id === fence)
  if (lease === undefined) return 'its holder'
  const worker = textOf(lease, 'worker')
  return worker === null ? actorWords(lease.actor, tokenNames) : workerWords(worker)
}

/** What a run with a held step waits for. */
export const decisionWords = (run: Run, { name }: Step): string =>
  `a person's decision about ${stepWords(name)} of ${runWords(run)}; without one the run fails ` +
  '(step_unresolved)'
