/**
 * Finds and signals the processes of one execution of a run. The guard uses it, and the node too
 * after its guard was lost.
 *
 * An execution has a process group, which its command leads. A process that left the group (with
 * setsid) is found on Linux by its environment. Other systems do not show it.
 * A daemon that has overwritten its environment, to show a title, is not found. Its parents do not
 * lead to it either: they have ended milliseconds after it was started, so that looking for
 * children from time to time sees them too rarely to rely on.
 *
 * What must hold: a process of another attempt of the same run is never touched. It has the same
 * run id, but another run token and another input file.
 */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'

const runIdName = 'HOLDFAST_RUN_ID'
/** They differ between two executions of one run. */
const executionNames = ['HOLDFAST_RUN_TOKEN', 'HOLDFAST_INPUT_FILE'] as const
const names: readonly string[] = [runIdName, ...executionNames]

/** The variables by which the processes of an execution are recognised. */
export type ExecutionMarks = Readonly<Record<string, string>>

export function executionMarks(
  runId: string,
  env: Readonly<Record<string, string>>,
): ExecutionMarks {
  const own = Object.entries(env).filter(([name]) => names.includes(name))
  return { ...Object.fromEntries(own), [runIdName]: runId }
}

interface MarkedProcess {
  readonly pid: number
  readonly group: number
  readonly marks: ExecutionMarks
}

/** What runs on this machine, as far as it may be ours. */
export interface Processes {
  groupIsAlive(group: number): boolean
  /** The processes of an execution outside its group. The group's signals do not reach them. */
  strays(execution: ExecutionMarks, group: number | null): number[]
}

/** `spared` are never among the strays. */
export function readProcesses(spared: readonly number[]): Processes {
  if (process.platform !== 'linux') return { groupIsAlive, strays: () => [] }
  const groups = new Set<number>()
  const marked: MarkedProcess[] = []
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    const group = Number.isInteger(pid) ? readGroup(pid) : null
    if (group === null) continue
    groups.add(group)
    const marks = spared.includes(pid) ? null : readMarks(pid)
    if (marks !== null) marked.push({ pid, group, marks })
  }
  return {
    groupIsAlive: (group) => groups.has(group) && groupIsAlive(group),
    strays: (execution, own) =>
      marked
        .filter(({ group, marks }) => group !== own && isOf(marks, execution))
        .map(({ pid }) => pid),
  }
}

/** A child may drop a variable, so one that is missing does not make it another execution. */
function isOf(marks: ExecutionMarks, execution: ExecutionMarks): boolean {
  if (marks[runIdName] !== execution[runIdName]) return false
  return executionNames.every(
    (name) =>
      marks[name] === undefined || execution[name] === undefined || marks[name] === execution[name],
  )
}

/** Null for a process that has ended, although nobody has waited for it yet. */
function readGroup(pid: number): number | null {
  // The name of the program stands in brackets and may contain anything, also brackets.
  const line = readProcFile(pid, 'stat')?.toString('latin1').replace(/^.*\)/s, '')
  const [state, , group] = line?.trim().split(' ') ?? []
  return state === undefined || /^[ZX]/i.test(state) ? null : Number(group)
}

let buffer = Buffer.allocUnsafe(64 * 1024)

function readMarks(pid: number): ExecutionMarks | null {
  const environ = readProcFile(pid, 'environ')
  if (environ === null || !environ.includes(`${runIdName}=`)) return null
  const marks = environ
    .toString()
    .split('\0')
    .map((entry) => entry.split(/=(.*)/s, 2))
    .filter((entry): entry is [string, string] => names.includes(entry[0] ?? ''))
  return Object.fromEntries(marks)
}

/** Valid until the next call. Null for a process that has ended or belongs to another user. */
function readProcFile(pid: number, name: 'environ' | 'stat'): Buffer | null {
  let file: number
  try {
    file = openSync(`/proc/${pid}/${name}`, 'r')
  } catch {
    return null
  }
  try {
    let length = 0
    for (;;) {
      const count = readSync(file, buffer, length, buffer.length - length, null)
      if (count === 0) return buffer.subarray(0, length)
      length += count
      if (length === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length)
    }
  } catch {
    return null
  } finally {
    closeSync(file)
  }
}

export type KillSignal = 'SIGTERM' | 'SIGKILL'

export function signalProcess(pid: number, signal: KillSignal): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended, or it has become another user's.
  }
}

export function signalGroup(group: number, signal: KillSignal): void {
  // -1 would be every process of the user, and 0 our own group.
  if (group > 1) signalProcess(-group, signal)
}

/** Also true when its processes have ended and nobody has waited for them yet. */
export function groupIsAlive(group: number): boolean {
  try {
    process.kill(-group, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
