/** A run that waits for a person's decision about a step, in words. */
import type { AuditRow } from '../../domain/audit.ts'
import type { Run } from '../../domain/run.ts'
import { heldStepMs, type Step } from '../../domain/step.ts'
import { actorWords, atStart, quoted, runWords, textOf, timeWords, workerWords } from './names.ts'

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
    `waits for a person's decision${since}: it is not known whether step ${quoted(held.name)} ` +
    `was done. ${atStart(beginnerWords(held, known))} began it at ${time(held.startedAt)} under ` +
    `the policy ${held.policy}, and no result came${end}`
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
  `a person's decision about step ${quoted(name)} of ${runWords(run)}; without one the run fails ` +
  '(step_unresolved)'
