/** What happened to a step of a run, in words: a clause for each audit type that is about one. */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { Run } from '../../domain/run.ts'
import { atStart, cleanText, counted, numberOf, quoted, runWords, textOf } from './names.ts'

interface StepAbout {
  readonly run: Run | null
  /** Who did it; null if the line above says so. */
  readonly who: string | null
}

type Words = (row: AuditRow, about: StepAbout) => string

type StepType = Extract<AuditType, `step.${string}` | `operator.step_${string}`>

export const stepRowWords: Readonly<Record<StepType, Words>> = {
  'step.in_doubt': (row, { run }) =>
    `${step(row, run)} was begun${begunBy(row)} and left no result, so it may have been done`,
  'step.taken_over': takenOverWords,
  'step.confirmed': (row) =>
    `${step(row)} had been done, as its own check found; it is not repeated`,
  'step.held': (row, { run }) =>
    `Only a person can tell whether ${within(row)} was done; ${runName(row, run)} waits for that`,
  'step.late': lateWords,
  'step.not_asked_for': notAskedForWords,
  'operator.step_confirmed': (row, about) => decidedWords(row, about, 'was done'),
  'operator.step_repeated': (row, about) => decidedWords(row, about, 'has to be done again'),
  'operator.step_failed': (row, about) => decidedWords(row, about, 'failed'),
}

const begunBy = ({ data }: AuditRow): string =>
  data['earlier_holder'] === false ? '' : ' by an earlier worker'

/** With `confirm`, our own executor asks the step's check twice. How others looked is not known. */
function takenOverWords(row: AuditRow): string {
  const again = `${step(row)} is done again, with the same key`
  if (row.data['policy'] !== 'confirm') return again
  const isExecutor = row.actor.startsWith('executor:')
  const who = isExecutor ? 'its check said twice' : 'its worker said'
  return `${again}: ${who} that it was not done`
}

/** Why a result that came late was not stored, by the state of the step. */
const outdated: Readonly<Record<string, string>> = {
  started: 'another worker had begun it',
  open: 'a person had decided to repeat it',
  done: 'it was done already',
}

function lateWords(row: AuditRow, { run }: StepAbout): string {
  const state = textOf(row, 'state') ?? ''
  if (row.data['counted'] !== true) {
    if (row.data['told_to_stop'] === true) {
      return `${step(row)} was told to stop before it returned, so what it returned is no result`
    }
    if (row.data['other_start'] === true) {
      const why = 'its worker had begun the step with another start_id'
      return `A result of ${within(row)} changed nothing, because ${why}`
    }
    const why = outdated[state] ?? 'it had been decided without it'
    return `A result of ${within(row)} came too late and changed nothing, because ${why}`
  }
  return `A late result of ${within(row)} was stored, so it is not repeated${goesOn(row, run)}`
}

function notAskedForWords(row: AuditRow, { run }: StepAbout): string {
  const names = listOf(row, 'steps').slice(0, 3).map(quoted)
  const more = (numberOf(row, 'count') ?? names.length) - names.length
  const which = [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ')
  const before = listOf(row, 'recorded_with').map((version) => cleanText(version, 40))
  const now = textOf(row, 'code_version')
  const versions =
    before.length === 0 || now === null
      ? ''
      : ` (stored by version ${before.join(', ')}; the version now is ${cleanText(now, 40)})`
  const steps =
    which === '' ? 'some stored steps' : `${counted(names.length + more, 'stored step')}: ${which}`
  return `${runName(row, run)} did not use ${steps}${versions}`
}

function decidedWords(row: AuditRow, { run, who }: StepAbout, what: string): string {
  return `${atStart(who ?? 'somebody')} decided that ${within(row)} ${what}${goesOn(row, run)}`
}

const goesOn = (row: AuditRow, run: Run | null): string =>
  row.data['run_state'] === 'pending' ? `; ${runName(row, run)} waits for the next worker` : ''

/** `step “model”`, within a sentence. */
function within(row: AuditRow): string {
  const name = textOf(row, 'step')
  return name === null ? 'a step' : `step ${quoted(name)}`
}

/** `Step “model” of review of 9c1185a`, at the start of a sentence. */
function step(row: AuditRow, run: Run | null = null): string {
  const words = within(row)
  const of = run === null ? '' : ` of ${runWords(run)}`
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}${of}`
}

const runName = (row: AuditRow, run: Run | null): string =>
  run === null ? `run ${row.runId ?? ''}`.trimEnd() : runWords(run)

/** The texts of a list in an audit row's data. */
function listOf({ data }: AuditRow, name: string): readonly string[] {
  const value = data[name]
  return Array.isArray(value)
    ? value.filter((item): item is string => typeof item === 'string')
    : []
}
