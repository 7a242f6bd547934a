/** What a handler is given: its run, and what it may do with it. */
import type { Output, Published } from '../../channels/own-output.ts'
import type { Run } from '../../domain/run.ts'
import type { RunGitHub } from '../../github/run-client.ts'
import { checkOutput, checkReport } from '../../library/requests.ts'
import type { Log } from '../../log.ts'
import type { Caller } from '../../operations/caller.ts'
import { publishDelivery, reportRunStatus } from '../../operations/outputs.ts'
import type { OperationPorts } from '../../operations/ports.ts'
import type { RunContext, StepOptions, StepWork } from '../../run-handler.ts'
import { warnOf } from '../../work/failed-by.ts'
import type { HandledRun } from './handled-run.ts'
import type { StepRunner } from './step-runner.ts'
import { parseStored } from '../../stored-json.ts'

export interface ContextOptions {
  readonly run: HandledRun
  readonly steps: StepRunner
  readonly ports: Pick<OperationPorts, 'store' | 'random' | 'publishRights'>
  readonly github: () => RunGitHub
  readonly log: Log
}

export function runContext(options: ContextOptions): RunContext {
  const { steps, ports, github, log } = options
  const { signal, held } = options.run
  const { run, leaseHash, actor } = held
  const caller: Caller = { kind: 'run', actor, runId: run.id, leaseHash, tokenId: null }
  let lastStatus = 0
  return {
    ...fieldsOf(run),
    signal,
    get github() {
      return github()
    },
    log: runLog(log, run),
    step: <T>(
      name: string,
      ...args: readonly [StepWork<T>] | readonly [StepOptions<T>, StepWork<T>]
    ) => handOut(args.length === 1 ? steps.step(name, {}, args[0]) : steps.step(name, ...args)),
    status: (text) => handOut(status(text)),
    publish: (name, output) => handOut(publish(name, output)),
  }

  async function status(text: string): Promise<void> {
    options.run.checkOpen()
    const { status: checked } = checkReport('run.status', text)
    const report = { id: run.id, status: checked }
    const mine = ++lastStatus
    // A newer one must not be replaced by one that is sent again.
    const send = async () => {
      if (mine === lastStatus) await reportRunStatus(ports, caller, report)
    }
    await options.run.write(() => held.askStore(send))
  }

  async function publish(name: string, output: Output): Promise<Published> {
    options.run.checkOpen()
    const checked = { id: run.id, name, output: checkOutput('run.publish', name, output) }
    const publish = () => held.askStore(() => publishDelivery(ports, caller, checked))
    const published = await options.run.write(publish)
    return { deliveryId: published.id, already: published.already }
  }
}

/**
 * A handler need not await every call: `Promise.all` leaves the others when one throws. Whoever
 * awaits it gets the error; otherwise it must not count as a rejection that nobody handles.
 */
function handOut<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined)
  return call
}

function fieldsOf(run: Run) {
  const { id, key, type, subject, repo, pr, baseSha, headSha, attempt, round } = run
  const { triggerEvent: event, triggerAction: action, triggerSender: sender } = run
  const { previousRunId, previousHeadSha, previousVerdict } = run
  return {
    ...{ id, key, type, subject, repo, pr, baseSha, headSha, attempt, round },
    input: run.input === null ? null : parseStored(run.input, 'input of the run'),
    feedback: null,
    trigger: { event, action, sender },
    previous: previousRunId === null ? null : previousOf(previousRunId),
  }

  function previousOf(runId: string) {
    return { runId, headSha: previousHeadSha, verdict: previousVerdict }
  }
}

/** Every line has the run's id and type. A line that cannot be written is no failure of the run. */
function runLog(log: Log, { id, type }: Run): Log {
  const about = { run_id: id, type }
  const level =
    (name: keyof Log): Log['info'] =>
    (given: unknown, ...more: readonly unknown[]) => {
      try {
        if (typeof given === 'object' && given !== null) {
          log[name]({ ...given, ...about }, ...(more as [string]))
        } else log[name](about, String(given), ...more)
      } catch (error) {
        warnOf(log, error, about, 'A handler logged something that cannot be written')
      }
    }
  return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') }
}
