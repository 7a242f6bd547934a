/**
 * Executes runs by a command, such as an agent's program or a build script.
 *
 * What must hold: no command outlives its lease or this process; the guard sees to that. Whatever
 * ends the run also ends the command: SIGTERM to its whole group, SIGKILL 5 s later. If the command
 * itself completed the run with its run token, it has 10 s to end by itself first. A short lease
 * does not shorten these times once the run has ended. How the command ended is audited in every
 * case.
 */
import { runView } from '../../contract/run-view.ts'
import type { Completion } from '../../domain/completion.ts'
import type { Executor, HeldRun, StopReason, WorkEnd } from '../../executor.ts'
import type { Log } from '../../log.ts'
import { delay, type Scheduler } from '../../scheduler.ts'
import type { CommandConfig } from '../../config.ts'
import type { OperationPorts } from '../../operations/ports.ts'
import type { StorePart } from '../../store.ts'
import { commandEnvironment } from './command-environment.ts'
import { commandOutcome, lastLines } from './command-outcome.ts'
import { killGraceMs, type CommandEnd, type Commands, type RunningCommand } from './commands.ts'
import { readResultFiles, type CommandResults } from './result-files.ts'
import { makeRunFiles, removeRunFiles, type RunFiles } from './run-files.ts'
import { parseStored } from '../../stored-json.ts'
import type { RunSecrets } from '../../texts/run-secrets.ts'

/** For a command that completed its own run. */
const endMsAfterCompletion = 10_000
/** Until the guard has heard of a stop. */
const messageMsMax = 1000
/** Longer than stopping a command takes. */
const stopMsMax = 30_000

export interface CommandOptions {
  readonly store: OperationPorts['store'] & StorePart<{ runs: 'noteCommandEnd' }>
  readonly commands: Commands
  readonly scheduler: Scheduler
  readonly log: Log
  /** The folder of the config file. */
  readonly folder: string
  /** The environment of this process, from which the listed variables are taken. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** What the process that receives the command's requests hides in them. */
  readonly runSecrets?: RunSecrets
  /** Where the command reaches the HTTP API. */
  readonly url: () => string
}

export function commandExecutor(
  config: Required<CommandConfig>,
  options: CommandOptions,
): Executor {
  return {
    stopMsMax,
    execute: (held) => withFiles(held, options, (files) => execute(config, held, files, options)),
  }
}

async function withFiles(
  held: HeldRun,
  { store, url, log }: CommandOptions,
  work: (files: RunFiles) => Promise<WorkEnd>,
): Promise<WorkEnd> {
  const { run, runToken } = held
  // The view has only words in the place of an unreadable input, and the command cannot know that.
  if (run.input !== null) parseStored(run.input, 'input of the run')
  const view = await held.askStore(() => runView(store, run))
  const input = JSON.stringify({ ...view, decision: null })
  const files = await makeRunFiles({ input, mcpUrl: `${url()}/mcp`, runToken })
  try {
    return await work(files)
  } finally {
    if (!(await removeRunFiles(files))) {
      log.warn({ run_id: run.id, folder: files.folder }, 'Could not remove the files of a run')
    }
  }
}

async function execute(
  config: Required<CommandConfig>,
  held: HeldRun,
  files: RunFiles,
  options: CommandOptions,
): Promise<WorkEnd> {
  const { run, runToken } = held
  const url = options.url()
  const access = { runId: run.id, runToken, url, mcpUrl: `${url}/mcp` }
  const { env, secrets } = commandEnvironment(options.env, config.env, access, files)
  await held.ensureLive()
  options.runSecrets?.add(held.leaseHash, secrets)
  const running = options.commands.run({
    ...{ runId: run.id, command: config.command, cwd: options.folder, env, secrets },
    leaseMs: held.safeMs(),
    leaseHash: held.leaseHash,
    folder: files.folder,
  })
  held.onRenewed(() => running.renew(held.safeMs()))
  stopWithRun(held, running, options.scheduler)
  const end = await running.ended
  options.runSecrets?.ended(held.leaseHash)
  const results = await readResultFiles(files, secrets)
  await noteEnd(held, end, options)
  return workEnd(held, end, results)
}

/** Whatever stops the run stops the command. */
function stopWithRun(held: HeldRun, running: RunningCommand, scheduler: Scheduler): void {
  const { signal } = held
  const stop = async (): Promise<void> => {
    const endsByItselfMs = held.stoppedBy === 'ended' ? endMsAfterCompletion : 0
    // Nobody takes a run that has ended. So its lease, which is renewed no more, ends nothing.
    if (hasEndedRun(held.stoppedBy)) running.renew(endsByItselfMs + killGraceMs + messageMsMax)
    if (endsByItselfMs > 0) {
      const ended = new AbortController()
      void running.ended.then(() => ended.abort())
      await delay(scheduler, endsByItselfMs, ended.signal)
    }
    running.stop()
  }
  if (signal.aborted) void stop()
  else signal.addEventListener('abort', () => void stop(), { once: true })
}

/** Otherwise another process may work on it once the lease is over, or does so already. */
function hasEndedRun(reason: StopReason | null): boolean {
  return reason !== null && reason !== 'lease_lost' && reason !== 'shutdown' && reason !== 'held'
}

async function noteEnd(held: HeldRun, end: CommandEnd, options: CommandOptions): Promise<void> {
  const { exitCode, signal, output, failure, failureText } = end
  const text = failureText === null ? {} : { text: failureText }
  const data = { exit_code: exitCode, signal, failure, ...text, last_lines: lastLines(output) }
  try {
    await options.store.runs.noteCommandEnd(held.run.id, held.actor, data)
  } catch (error) {
    options.log.warn({ err: error, run_id: held.run.id }, 'Could not note how a command ended')
  }
}

function workEnd(held: HeldRun, end: CommandEnd, results: CommandResults): WorkEnd {
  if (held.stoppedBy !== null) return { end: 'stopped' }
  const outcome = commandOutcome(end, results)
  if (outcome === null) return { end: hasEnded(end) ? 'cut_off' : 'abandoned' }
  const completion: Completion = {
    outcome: outcome.outcome,
    summary: outcome.summary ?? undefined,
    result: outcome.result ?? undefined,
    error: outcome.error ?? undefined,
  }
  return { end: 'completed', completion }
}

/** What a lost guard has left behind was killed. Otherwise something may still run. */
const hasEnded = ({ failure, exitCode, signal }: CommandEnd): boolean =>
  failure === 'guard_lost' || exitCode !== null || signal !== null
