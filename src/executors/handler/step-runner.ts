/**
 * `run.step`: does a piece of a run's work once, whatever crashes.
 *
 *   stored result or error   returned or thrown again, without asking the store
 *   begun by nobody          begun, then done
 *   begun, and no result     in doubt: settled by the step's policy, see `#settle`
 *
 * What must hold: the function is called only after its beginning is committed, and only while the
 * lease is live. With `repeat` the result is written in the background, so that one commit carries
 * it and the beginning of the next step, or the end of the run. With `confirm` and `hold` the
 * result is stored before `run.step` resolves. What a function returns after the run's signal has
 * aborted is no result. After the handler has ended nothing begins.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { outsideRuns } from '../../current-run.ts'
import type { Step, StepAction, StepPolicy, StepResult, StepStart } from '../../domain/step.ts'
import { ConflictError, isStoreAway, oddErrorsMax } from '../../errors.ts'
import { StopWork } from '../../executor.ts'
import type { Log } from '../../log.ts'
import type { Random } from '../../random.ts'
import type { StepOptions, StepWork } from '../../run-handler.ts'
import { delay, within, type Scheduler } from '../../scheduler.ts'
import { stepKey } from '../../ids.ts'
import type { StepAnswer, StepRequest, StorePart } from '../../store.ts'
import { cutText } from '../../texts/cut-text.ts'
import { heldRunText } from '../../texts/held-run.ts'
import { isA, textOf } from '../../texts/thrown-value.ts'
import { warnOf } from '../../work/failed-by.ts'
import { callStep, type CallResult } from './call-step.ts'
import type { HandledRun } from './handled-run.ts'
import { askConfirm } from './ask-confirm.ts'
import { checkStepOptions, checkStepName } from './step-options.ts'
import { nested, StepFailedError, StepNotDone } from '../../step-errors.ts'
import { StepTimeoutError, usedTwice } from '../../step-errors.ts'
import { BadStepResult, resultText } from './step-result.ts'
import { parseStored } from '../../stored-json.ts'

const storeRetryMs = 1000
const errorTextMax = 2000

export interface StepRunnerOptions {
  readonly store: StorePart<{ steps: 'act' }>
  readonly run: HandledRun
  readonly random: Random
  readonly scheduler: Scheduler
  readonly log: Log
  readonly confirmDelayMs: number
  /** Null if it is not known. */
  readonly codeVersion: string | null
}

/** One call of `run.step`. */
interface Call<T> {
  readonly name: string
  readonly key: string
  readonly startId: string
  readonly policy: StepPolicy
  readonly options: StepOptions<T>
  readonly work: StepWork<T>
}

type StepBegun = Pick<StepStart, 'name' | 'startId'>

/** What a step came to: a result as JSON text. An error is thrown. */
type Result = string

export class StepRunner {
  readonly #options: StepRunnerOptions
  readonly #known: ReadonlyMap<string, Step>
  readonly #used = new Set<string>()
  /** Names of steps that were asked for and have not come to an end. */
  readonly #inProgress = new Set<string>()
  /** Of steps that run: when they have ended, and the name of the step. */
  readonly #functions = new Map<Promise<undefined>, string>()
  readonly #inside = new AsyncLocalStorage<string>()
  /** Results that are sent with the next beginning, with the end of the run, or soon. */
  #unsent: StepResult[] = []
  #unsentLength = 0

  constructor(options: StepRunnerOptions) {
    this.#options = options
    this.#known = new Map(options.run.held.steps.map((step) => [step.name, step]))
  }

  async step<T>(name: string, options: StepOptions<T>, work: StepWork<T>): Promise<T> {
    const { run, random } = this.#options
    run.checkOpen()
    checkStepName(name)
    const policy = checkStepOptions(name, options, work)
    const outer = this.#inside.getStore()
    if (outer !== undefined) throw nested(name, outer)
    if (this.#used.has(name)) throw usedTwice(name)
    this.#used.add(name)
    const known = this.#known.get(name)
    const { id: runId, round } = run.held.run
    const call: Call<T> = {
      ...{ name, policy, options, work },
      key: stepKey({ runId, round, name }),
      startId: random.bytes(12).toString('base64url'),
    }
    this.#inProgress.add(name)
    try {
      const result = (known && storedResult(known)) ?? (await this.#begin(call))
      return parseStored(result, `result of the step ${name}`) as T
    } finally {
      this.#inProgress.delete(name)
    }
  }

  /** Resolves when no function of a step runs any more. */
  async allStopped(): Promise<void> {
    while (this.#functions.size > 0) {
      await Promise.all(this.#functions.keys())
      // Then what they returned is on its way to the store.
      await new Promise<void>((resolve) => this.#options.scheduler.soon(resolve))
    }
  }

  /** The same when the handler has ended, but at most after `ms`. Then it returns false. */
  async stopWithin(ms: number): Promise<boolean> {
    const { run, scheduler, log } = this.#options
    const about = { run_id: run.held.run.id, steps: [...this.#inProgress] }
    if (about.steps.length > 0) {
      log.warn(about, 'A handler ended before these steps; they stop, or are not done at all')
    }
    if (this.#functions.size === 0) return true
    const stopped = this.allStopped().then(() => true)
    if (await within(scheduler, ms, stopped, false)) return true
    log.error(about, 'Functions of steps go on although they were told to stop')
    return false
  }

  /** Steps of an earlier attempt that this one did not ask for. */
  notAskedFor(): readonly Step[] {
    return [...this.#known.values()].filter(({ name }) => !this.#used.has(name))
  }

  /** Sends the results that wait to be sent together with something else. */
  sendResults(): void {
    for (const { result, ...step } of this.takeResults()) {
      // A lost run has stopped the work already, and the store has kept what may be kept.
      this.#act(step, { do: 'record', result }).catch(() => undefined)
    }
  }

  /** From now on the caller has to send them. */
  takeResults(): readonly StepResult[] {
    const taken = this.#unsent
    this.#unsent = []
    this.#unsentLength = 0
    return taken
  }

  async #begin<T>(call: Call<T>): Promise<Result> {
    this.sendResults()
    const answer = await this.#act(call, { do: 'begin', policy: call.policy })
    if (answer.reply !== 'in-doubt') return await this.#afterBegin(call, answer)
    return (await this.#settle(call)) ?? (await this.#takeOver(call))
  }

  async #takeOver<T>(call: Call<T>): Promise<Result> {
    const answer = await this.#act(call, { do: 'take-over', policy: call.policy })
    return await this.#afterBegin(call, answer)
  }

  async #afterBegin<T>(call: Call<T>, { step }: StepAnswer): Promise<Result> {
    const stored = step && storedResult(step)
    return stored ?? (await this.#perform(call))
  }

  /** Calls the function until it succeeds, or has failed too often. */
  async #perform<T>(call: Call<T>): Promise<Result> {
    const { run, scheduler } = this.#options
    const { retries = retriesDefault } = call.options
    for (let tries = 1; ; tries++) {
      await run.ensureLive()
      const called = await this.#call(call)
      if (called.end === 'returned') return await this.#record(call, called.value)
      if (called.end === 'stopped') await this.#tellStopped(call)
      run.checkOpen()
      const settled = await this.#settleFailed(call, called)
      if (settled !== null) return settled
      const thrown = thrownBy(call, called)
      if (called.end === 'still-running') throw thrown
      if (tries > retries) throw await this.#recordFailure(call, 'step_failed', thrown)
      this.#logRetry(call, thrown, tries)
      await delay(scheduler, retryDelayMs(tries), run.signal)
      run.checkOpen()
    }
  }

  /** Nothing is stored about a failed try, so the log is the only place that tells of it. */
  #logRetry<T>({ name, options }: Call<T>, thrown: unknown, tries: number): void {
    const { run, log } = this.#options
    const { retries = retriesDefault } = options
    const about = { run_id: run.held.run.id, step: name, tries, tries_max: retries + 1 }
    const next = { ...about, next_try_ms: retryDelayMs(tries) }
    warnOf(log, thrown, next, 'A try of a step failed; trying again')
  }

  async #call<T>(call: Call<T>): Promise<CallResult<T>> {
    const { run, scheduler } = this.#options
    const { name, key, options, work } = call
    const limits = { timeoutMs: options.timeoutMs ?? null, signal: run.signal, scheduler }
    const onLate = (late: CallResult<T>): void => void this.#recordLate(call, late)
    return await this.#inside.run(name, () =>
      callStep((signal) => this.#inFunction(name, () => work({ key, signal })), limits, onLate),
    )
  }

  /** Knows the functions that have not returned, also those that a step no longer waits for. */
  async #inFunction<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#functions.set(promise, name)
    try {
      return await work()
    } finally {
      this.#functions.delete(promise)
      resolve(undefined)
    }
  }

  /** It was given up, and then it was done after all. The store decides whether that counts. */
  async #recordLate<T>(call: Call<T>, late: CallResult<T>): Promise<void> {
    if (late.end === 'stopped') {
      await this.#tellStopped(call)
      return
    }
    if (late.end !== 'returned') return
    const { store, run, log } = this.#options
    try {
      const result = resultText(late.value)
      const request = this.#request(call, { do: 'record', result })
      await outsideRuns(() => store.steps.act(request))
    } catch (error) {
      const about = { err: error, run_id: run.held.run.id, step: call.name }
      log.warn(about, 'A step was done after it was given up, and its result was not kept')
    }
  }

  /**
   * Its function returned after the run's signal had aborted, perhaps only a part of its value. So
   * the step has no result, and its policy decides when it is begun again.
   */
  async #tellStopped<T>(call: Call<T>): Promise<void> {
    await this.#act(call, { do: 'stopped' }).catch(() => undefined)
  }

  /** A function that threw. Null: it was not done, so it may be tried again. */
  async #settleFailed<T>(call: Call<T>, called: CallResult<T>): Promise<Result | null> {
    if (call.policy === 'repeat') return null
    if (called.end === 'threw' && isA(called.thrown, StepNotDone)) return null
    return await this.#settle(call)
  }

  /** By the step's policy: the result if it was done, null if it has to be done (again). */
  async #settle<T>(call: Call<T>): Promise<Result | null> {
    const { run, scheduler, log, confirmDelayMs } = this.#options
    const { name, policy, options, key } = call
    if (policy === 'repeat') return null
    if (policy === 'confirm' && options.confirm !== undefined) {
      const ask = options.confirm
      const about = { run_id: run.held.run.id, step: name }
      const onUnknown = (why: unknown): void =>
        warnOf(log, why, about, 'The confirm of a step could not find out whether it was done')
      const settings = { delayMs: confirmDelayMs, scheduler, signal: run.signal, onUnknown }
      const asked = () => ask({ key, signal: run.signal })
      const found = await askConfirm(() => this.#inFunction(name, asked), settings)
      run.checkOpen()
      if (found === 'not-done') return null
      if (found !== 'unknown') {
        const { result } = found
        const { step } = await this.#act(call, { do: 'confirm', result })
        return (step && storedResult(step)) ?? result
      }
    }
    const { step } = await this.#act(call, { do: 'hold' })
    const late = step && storedResult(step)
    if (late !== null) return late
    // The run is no longer ours.
    const { id: runId } = run.held.run
    log.warn({ run_id: runId, step: name }, heldRunText(runId))
    run.held.stopWork('held')
    throw new StopWork('held')
  }

  async #record<T>(call: Call<T>, value: unknown): Promise<Result> {
    let result: Result
    try {
      result = resultText(value)
    } catch (error) {
      if (!(error instanceof BadStepResult)) throw error
      throw await this.#recordFailure(call, error.code, error)
    }
    if (call.policy === 'repeat') this.#sendSoon(call, result)
    else await this.#act(call, { do: 'record', result })
    return result
  }

  #sendSoon({ name, startId }: StepBegun, result: Result): void {
    const { scheduler, codeVersion } = this.#options
    if (this.#unsent.length === 0) scheduler.soon(() => this.sendResults())
    this.#unsent.push({ name, startId, codeVersion, result })
    this.#unsentLength += result.length
    const areMany = this.#unsent.length >= unsentMax || this.#unsentLength > unsentLengthMax
    if (areMany) this.sendResults()
  }

  async #recordFailure<T>(call: Call<T>, errorCode: string, thrown: unknown): Promise<Error> {
    const errorText = failureText(thrown)
    await this.#act(call, { do: 'fail', errorCode, errorText })
    return new StepFailedError(call.name, errorCode, errorText, thrown)
  }

  /**
   * Repeats it while the store cannot be reached. Rejects when the run is lost, or if the store
   * refuses the request again and again for another reason. A result is told
   * all the same: the effect has happened, and a step that still waits for it is not repeated.
   */
  async #act(call: StepBegun, action: StepAction): Promise<StepAnswer> {
    const { store, run, scheduler, log } = this.#options
    const { held } = run
    const about = { run_id: held.run.id, step: call.name }
    const request = this.#request(call, action)
    const act = (): Promise<StepAnswer> => store.steps.act(request)
    const isLate = action.do === 'record' || action.do === 'stopped'
    const isResult = isLate || action.do === 'fail'
    // What has ended may be stored after the handler has ended; nothing may begin then.
    const { signal } = isResult ? held : run
    return await run.write(async () => {
      for (let odd = 0; ;) {
        try {
          return isLate ? await held.tellResult(act) : await held.whileHeld(act)
        } catch (error) {
          if (error instanceof ConflictError || signal.aborted) throw error
          if (!isStoreAway(error) && ++odd === oddErrorsMax) throw error
          log.warn({ ...about, err: error }, 'Could not store a step; trying again')
          await delay(scheduler, storeRetryMs, signal)
        }
      }
    })
  }

  #request({ name, startId }: StepBegun, action: StepAction): StepRequest {
    const { run: handled, codeVersion } = this.#options
    const { run, leaseHash, actor } = handled.held
    return { runId: run.id, leaseHash, actor, name, startId, codeVersion, action }
  }
}

/** A completion is one request, and completions are stored together, so it carries only a few. */
const unsentMax = 64
const unsentLengthMax = 256 * 1024

const retriesDefault = 2
const retryMsMax = 30_000

const retryDelayMs = (tries: number): number => Math.min(retryMsMax, 1000 * 2 ** (tries - 1))

/** The stored result, null if there is none to use yet. Throws the stored error. */
function storedResult(step: Step): Result | null {
  if (step.state === 'failed') {
    throw new StepFailedError(step.name, step.errorCode ?? 'step_failed', step.errorText ?? '')
  }
  return step.state === 'done' ? step.result : null
}

function thrownBy<T>({ name, options }: Call<T>, called: CallResult<T>): unknown {
  if (called.end === 'threw') return called.thrown
  return new StepTimeoutError(name, options.timeoutMs ?? 0)
}

const failureText = (thrown: unknown): string =>
  cutText(isA(thrown, BadStepResult) ? thrown.message : textOf(thrown), errorTextMax)
