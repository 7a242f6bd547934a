/**
 * Real commands for the tests of executors: each request is another execution, and its processes
 * write their pids to files, so that a test can say which of them are alive.
 */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { systemClock } from '../../src/clock.ts'
import {
  createCommands,
  type CommandRequest,
  type Commands,
  type CommandsOptions,
} from '../../src/executors/command/commands.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { until } from '../scenarios/until.ts'

export function openCommands(options: Partial<CommandsOptions> = {}): Commands {
  return createCommands({
    clock: systemClock,
    scheduler: systemScheduler,
    log: pino({ level: 'silent' }),
    ...options,
  })
}

let executions = 0

/** A run's variables as Holdfast gives them. `script` is for sh; `$PIDS` is a folder for pids. */
export function execution(script: string, given: Partial<CommandRequest> = {}): Execution {
  executions += 1
  const runId = given.runId ?? `run_${process.pid}_${executions}`
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-command-'))
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOLDFAST_RUN_ID: runId,
    HOLDFAST_RUN_TOKEN: `hfr_${runId}.secret${executions}`,
    PIDS: folder,
    ...given.env,
  }
  const request: CommandRequest = {
    runId,
    command: ['sh', '-c', script],
    cwd: folder,
    secrets: [],
    leaseMs: 60_000,
    ...given,
    env,
  }
  return { request, pidOf: (name) => pidIn(join(folder, name)), folder }
}

export interface Execution {
  readonly request: CommandRequest
  readonly folder: string
  /** Resolves when the process has written its pid to the file of this name. */
  pidOf(name: string): Promise<number>
}

async function pidIn(file: string): Promise<number> {
  const read = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  return Number(
    await until(
      async () => read(),
      (text) => text.endsWith('\n'),
    ),
  )
}

/** A process that has ended and was not waited for is not alive. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    if (process.platform !== 'linux') return true
    return !/\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

export async function untilDead(pid: number): Promise<void> {
  await until(
    async () => isAlive(pid),
    (alive) => !alive,
  )
}

/** The guard of this process's commands. It is the only child in a session of its own. */
export function guardPid(commandPid: number): number {
  return parentOf(commandPid)
}

export function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

/** In kilobytes: what it uses now, and the most it ever used. */
export function memoryOf(pid: number): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1])
  return { now: read('VmRSS'), most: read('VmHWM') }
}
