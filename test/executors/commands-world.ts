/**
 * Real commands for the tests of executors. Each request is another execution. Its processes write
 * their pids to files, so that a test can say which of them are alive.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
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

/**
 * What the scripts of tests call. `mark NAME` writes the pid of its caller. They end with the
 * folders of the test run, so that a test that fails leaves nothing behind.
 */
const programs: Readonly<Record<string, string>> = {
  // Written under another name first, so that nobody reads half a pid.
  mark: 'echo $PPID >$PIDS/$1.new && mv $PIDS/$1.new $PIDS/$1',
  'wait-for': 'while [ -e $PIDS -a ! -e $PIDS/$1 ]; do sleep 0.02; done',
  sleeper: 'mark $1; exec sleep 60',
  stubborn: 'trap "" TERM; mark $1; while [ -e $PIDS ]; do sleep 0.05; done',
  // It sleeps shortly, because a SIGTERM between the fork and the exec of a child may be lost.
  polite: 'trap "mark got-term; exit 7" TERM; mark $1; while [ -e $PIDS ]; do sleep 0.05; done',
}

function installPrograms(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-programs-'))
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o700 })
  }
  return folder
}

let installed: string | null = null
let executions = 0

export interface Execution {
  readonly request: CommandRequest
  /** Where its processes are started and write their pids. */
  readonly folder: string
  /** Resolves when a process has written its pid under this name. */
  readonly pidOf: (name: string) => Promise<number>
  /** Lets a `wait-for NAME` go on. */
  readonly go: (name: string) => void
}

/** `script` is for sh. The environment has a run's id and token, as Holdfast gives them. */
export function execution(script: string, given: Partial<CommandRequest> = {}): Execution {
  executions += 1
  installed ??= installPrograms()
  const runId = given.runId ?? `run_${process.pid}_${executions}`
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-command-'))
  const env = {
    PATH: `${installed}:${process.env['PATH'] ?? ''}`,
    HOLDFAST_RUN_ID: runId,
    HOLDFAST_RUN_TOKEN: `hfr_${runId}.secret${executions}`,
    PIDS: folder,
    ...given.env,
  }
  const command = ['sh', '-c', script]
  const request = { runId, command, cwd: folder, secrets: [], leaseMs: 60_000, ...given, env }
  return {
    request,
    folder,
    pidOf: (name) => pidIn(join(folder, name)),
    go: (name) => mkdirSync(join(folder, name)),
  }
}

export async function pidIn(file: string): Promise<number> {
  await until(async () => existsSync(file), Boolean)
  return Number(readFileSync(file, 'utf8'))
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

/** Of a command: its guard. */
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
