/**
 * Kills what a lost guard left behind. The node does it itself, because until the next guard is
 * there nobody else can.
 *
 * What must hold: a command that was just being started is found too. Its process has the run id in
 * its environment a moment after the guard is gone, so the search is repeated.
 */
import { delay, type Scheduler } from '../../scheduler.ts'
import { readProcesses, signalGroup, signalProcess, type ExecutionMarks } from './processes.ts'

export interface LeftOver {
  /** Null when the guard had no time to say it. */
  readonly pid: number | null
  readonly marks: ExecutionMarks
}

const lookEveryMs = 50
/** Killing takes a few looks. What is there after 2 s cannot be killed. */
const looksMax = 40
/** A command without a known process may appear up to 500 ms later. */
const looksForUnknown = 10

export async function killLeftOver(
  left: readonly LeftOver[],
  spared: readonly number[],
  scheduler: Scheduler,
): Promise<void> {
  const groups = new Set(left.flatMap(({ pid }) => (pid === null ? [] : [pid])))
  const hasUnknown = left.some(({ pid }) => pid === null)
  for (let looks = 1; looks <= looksMax; looks += 1) {
    const found = killOnce(left, groups, spared)
    if (!found && (!hasUnknown || looks >= looksForUnknown)) return
    await delay(scheduler, lookEveryMs)
  }
}

/** Answers whether anything was there. */
function killOnce(
  left: readonly LeftOver[],
  groups: Set<number>,
  spared: readonly number[],
): boolean {
  const processes = readProcesses(spared)
  for (const group of [...groups]) {
    // An empty group is left alone from now on: its number may soon be another group's.
    if (!processes.groupIsAlive(group)) groups.delete(group)
    else signalGroup(group, 'SIGKILL')
  }
  const strays = left.flatMap(({ marks, pid }) => processes.strays(marks, pid))
  for (const pid of strays) signalProcess(pid, 'SIGKILL')
  return groups.size > 0 || strays.length > 0
}
