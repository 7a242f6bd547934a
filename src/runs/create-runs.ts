/** The run verbs over a store: makes lease secrets, waits in long-polls, wakes waiting workers. */
import type { Clock } from '../clock.ts'
import type { Claim } from '../domain/claim.ts'
import type { LeaseGrant, LeaseSecret, LeaseToken, Run, RunPolicy } from '../domain/run.ts'
import { runNotFound } from '../errors.ts'
import type { Engine } from '../engine.ts'
import type { HeadSource } from '../head-source.ts'
import type { Log } from '../log.ts'
import type { Random } from '../random.ts'
import type { Scheduler } from '../scheduler.ts'
import { hashSecret, makeSecret } from '../secrets.ts'
import type {
  ClaimAnswer,
  CompleteRequest,
  DecidedStep,
  DecideStepRequest,
  HeartbeatAnswer,
  Hold,
  IdempotencyKey,
  Page,
  Paged,
  RunFilter,
  StepAnswer,
  StepRequest,
  Store,
} from '../store.ts'
import { heldRunText } from '../texts/held-run.ts'
import { withRepository } from './callers-repository.ts'
import { claimedView, leasedView } from './answers.ts'
import { byCallersClock, toClaim } from './claim-request.ts'
import { HeadCheck } from './head-check.ts'
import { HolderWakeup } from './holder-wakeup.ts'
import { NameCheck, type NameSource } from './name-check.ts'
import { StartOffers, type FreeExecutors } from './start-offers.ts'
import { waitScopeOf, WorkerWakeup } from './worker-wakeup.ts'
import type {
  Claimed,
  ClaimRequest,
  CompleteRunRequest,
  HeartbeatRequest,
  Leased,
  LeaseRunRequest,
  LeaseRunsRequest,
  Runs,
} from './runs.ts'

const leasePollMs = 500

export interface RunsOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly log: Log
  readonly leaseMs: number
  readonly policyOf: (type: string, kind: ClaimRequest['kind']) => RunPolicy
  /** Types that have a function or a command. Workers get their runs only if they name the type. */
  readonly executedTypes?: readonly string[]
  /** Null without GitHub credentials: the order of arrival decides. */
  readonly headSource: HeadSource | null
  /** Tells other processes. Missing in the library. */
  readonly engine?: Pick<Engine, 'announce' | 'announceLost'>
  /** Missing in the library: the repository id that a caller sends cannot be checked there. */
  readonly nameSource?: NameSource
}

export interface RunsService extends Runs {
  /** A claim for another verb of the store; call `claimCommitted` after its commit. */
  toClaim(request: ClaimRequest, actor: string): Claim
  claimCommitted(answer: ClaimAnswer): void
  /** For claims of another verb of the store, whose runs may start at once. */
  offerStarts(): StartOffers
  /** From now on claims may start their runs on these executors. */
  startOn(executors: FreeExecutors): void
  /** Call only after the commit: these runs were ended or given back, not by their holder. */
  runsEnded(runs: readonly Run[]): void
  /** Another process says that these runs may be lost. */
  readonly lost: (runIds: readonly string[]) => void
  /** Asks GitHub to confirm the head; rejects when GitHub cannot be asked now. */
  checkHead(run: Run, fence: number): Promise<void>
  /** Resolves when no question to GitHub is open. */
  idle(): Promise<void>
  /** Gives up the open questions to GitHub: the order of arrival stays. */
  stop(): Promise<void>
}

export function createRuns(options: RunsOptions): RunsService {
  return new StoreRuns(options)
}

class StoreRuns implements RunsService {
  readonly #workers: WorkerWakeup
  readonly #options: RunsOptions
  readonly #holders: HolderWakeup
  readonly #headCheck: HeadCheck | null
  readonly #names: NameCheck | null
  #executors: FreeExecutors = noExecutors

  constructor(options: RunsOptions) {
    const { store, scheduler, headSource, nameSource, log, executedTypes = [] } = options
    this.#options = options
    this.#workers = new WorkerWakeup(store, scheduler, executedTypes)
    this.#holders = new HolderWakeup(store, scheduler)
    this.#names =
      nameSource === undefined ? null : new NameCheck({ ...options, source: nameSource })
    this.#headCheck =
      headSource === null
        ? null
        : new HeadCheck({
            store,
            source: headSource,
            onMoved: (run, lostRunIds) => {
              this.#tellLost(lostRunIds)
              this.#tellAvailable(run)
            },
            onError: (error, run) =>
              log.warn(
                { err: error, run_id: run.id },
                'Could not ask GitHub which commit is the newest head',
              ),
          })
  }

  runsEnded(runs: readonly Run[]): void {
    this.#tellLost(runs.map(({ id }) => id))
    for (const run of runs) this.#tellAvailable(run)
  }

  readonly lost = (runIds: readonly string[]): void => this.#holders.wake(runIds)

  #tellLost(runIds: readonly string[]): void {
    if (runIds.length === 0) return
    this.#holders.wake(runIds)
    this.#options.engine?.announceLost(runIds)
  }

  /** A run of this type may be available: this one, or the next of its queue. */
  #tellAvailable({ id: runId, fence, type }: Run): void {
    this.#workers.wakeOne(type)
    this.#options.engine?.announce([{ runId, fence, type }])
  }

  async checkHead(run: Run, fence: number): Promise<void> {
    await this.#headCheck?.ask(run, fence)
  }

  async idle(): Promise<void> {
    await this.#headCheck?.idle()
  }

  async stop(): Promise<void> {
    this.#names?.stop()
    await this.#headCheck?.stop()
  }

  toClaim(request: ClaimRequest, actor: string): Claim {
    const { store, policyOf } = this.#options
    const leaseMs = request.leaseMs ?? this.#options.leaseMs
    return toClaim(request, {
      policy: policyOf(request.type, request.kind),
      lease: request.lease === false ? null : { ...this.#callersGrant(request), ms: leaseMs },
      leaseMs,
      actor,
      now: store.now(),
    })
  }

  startOn(executors: FreeExecutors): void {
    this.#executors = executors
  }

  offerStarts(): StartOffers {
    const ms = this.#options.leaseMs
    return new StartOffers(this.#executors, (worker) => {
      return { ...this.#grant('executor', worker, undefined), ms }
    })
  }

  claimCommitted(answer: ClaimAnswer): void {
    const { run, process, taken, supersededRunIds, unclear, decisionId } = answer
    this.#tellLost(supersededRunIds)
    if (process && taken === null && run?.state === 'pending') this.#tellAvailable(run)
    if (unclear && run !== null) this.#headCheck?.start(run, decisionId)
  }

  async claim(
    callersRequest: ClaimRequest,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<Claimed> {
    const request = byCallersClock(callersRequest, this.#options.store.now())
    const { store } = this.#options
    const sources = { store, names: this.#names }
    const claim = await withRepository(sources, this.toClaim(request, actor))
    const offers = this.offerStarts()
    try {
      const answer = await store.runs.claim(claim, idempotencyKey ?? null, offers)
      offers.begin(answer)
      this.claimCommitted(answer)
      return claimedView(answer)
    } finally {
      offers.withdraw()
    }
  }

  async lease(
    request: LeaseRunRequest,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<Leased | null> {
    const { store, clock, executedTypes = [] } = this.#options
    const { worker, types, runId, signal } = request
    const wanted = {
      grant: this.#grant(request.isCaller === true ? 'caller' : 'worker', worker, request.token),
      within: request.within,
      leaseMs: request.leaseMs ?? null,
      types: types ?? null,
      exceptTypes: executedTypes,
      runId: runId ?? null,
      actor,
    }
    const until = clock.monotonicMs() + (request.waitMs ?? 0)
    const wait = { ...waitScopeOf(request), wantsOneRun: runId !== undefined }
    for (;;) {
      const answer = await store.runs.lease(wanted, idempotencyKey ?? null)
      if (answer !== null) {
        // There may be more runs: wake the next worker.
        this.#workers.wakeOne(answer.run.type)
        return leasedView(answer)
      }
      const left = until - clock.monotonicMs()
      if (left <= 0) return null
      // Workers are woken by type, so a worker that wants one particular run polls itself.
      const waitMs = wait.wantsOneRun ? Math.min(left, leasePollMs) : left
      await this.#workers.wait(wait, waitMs, signal)
      // The caller has gone: a lease granted now would be lost.
      if (signal?.aborted === true) return null
    }
  }

  async leaseMany(request: LeaseRunsRequest, actor: string): Promise<readonly Leased[]> {
    const { store, leaseMs } = this.#options
    const { worker, type, count, askedOnly, lastIfAsked } = request
    const grants = Array.from({ length: count }, () => this.#grant('executor', worker, undefined))
    const wanted = { grants, leaseMs, type, askedOnly, lastIfAsked, actor }
    const answers = await store.runs.leaseMany(wanted)
    return answers.map(leasedView)
  }

  async untilLost(hold: Hold, ms: number, signal: AbortSignal): Promise<void> {
    await this.#holders.wait(hold, ms, signal)
  }

  /** Renews the lease while the request is open: a caller that waits is alive. */
  async heartbeat(
    request: HeartbeatRequest,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<HeartbeatAnswer> {
    const { store, clock } = this.#options
    const { runId, leaseHash, signal } = request
    const holder = { runId, leaseHash, leaseMs: request.leaseMs ?? null, actor }
    let answer = await store.runs.heartbeat(holder, idempotencyKey ?? null)
    const until = clock.monotonicMs() + (request.waitMs ?? 0)
    for (;;) {
      const left = until - clock.monotonicMs()
      if (left <= 0) return answer
      const hold = { runId, fence: answer.fence }
      await this.#holders.wait(hold, Math.min(left, answer.leaseMs / 3), signal)
      if (signal?.aborted === true) return answer
      answer = await store.runs.heartbeat(holder, null)
    }
  }

  async release(
    runId: string,
    leaseHash: string,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<Run> {
    const holder = { runId, leaseHash, leaseMs: null, actor }
    const run = await this.#options.store.runs.release(holder, idempotencyKey ?? null)
    this.#tellAvailable(run)
    return run
  }

  async giveUp(runId: string, leaseHash: string, actor: string): Promise<Run> {
    const run = await this.#options.store.runs.giveUp({ runId, leaseHash, leaseMs: null, actor })
    this.runsEnded([run])
    return run
  }

  async complete(
    request: CompleteRunRequest,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<Run> {
    const completion = { ...completionOf(request), actor }
    const run = await this.#options.store.runs.complete(completion, idempotencyKey ?? null)
    // The next run of its queue, or a requested rerun, may be available now. Its holder may be
    // another process: a run token completes a run whose command is still running.
    this.#tellLost([run.id])
    // Behind a run that newer ones supersede nothing waits.
    if (run.onNewer !== 'supersede' || run.state === 'pending') this.#tellAvailable(run)
    return run
  }

  async actOnStep(request: StepRequest): Promise<StepAnswer> {
    const answer = await this.#options.store.steps.act(request)
    if (answer.reply === 'held') {
      // Its holder has lost the run, and may wait in a heartbeat.
      this.#holders.wake([request.runId])
      const { runId, name } = request
      this.#options.log.warn({ run_id: runId, step: name }, heldRunText(runId))
    }
    return answer
  }

  async decideStep(
    request: DecideStepRequest,
    idempotencyKey?: IdempotencyKey,
  ): Promise<DecidedStep> {
    const decided = await this.#options.store.steps.decide(request, idempotencyKey ?? null)
    this.#tellAvailable(decided.run)
    return decided
  }

  async cancel(runId: string, actor: string, idempotencyKey?: IdempotencyKey): Promise<Run> {
    const run = await this.#options.store.runs.cancel(runId, actor, idempotencyKey ?? null)
    this.runsEnded([run])
    return run
  }

  async cancelPending(runId: string, actor: string): Promise<Run> {
    const run = await this.#options.store.runs.cancelPending(runId, actor)
    if (run.state === 'cancelled') this.runsEnded([run])
    return run
  }

  async rerun(runId: string, actor: string, idempotencyKey?: IdempotencyKey): Promise<Claimed> {
    const answer = await this.#options.store.runs.rerun(runId, actor, idempotencyKey ?? null)
    this.claimCommitted(answer)
    return claimedView(answer)
  }

  async get(runId: string): Promise<Run> {
    const run = await this.#options.store.runs.get(runId)
    if (run === null) throw runNotFound(runId)
    return run
  }

  list(filter: RunFilter, page: Page): Promise<Paged<Run>> {
    const { repo, headSha } = filter
    const lowered = {
      ...filter,
      ...(repo !== undefined && { repo: repo.toLowerCase() }),
      ...(headSha !== undefined && { headSha: headSha.toLowerCase() }),
    }
    return this.#options.store.runs.list(lowered, page)
  }

  #callersGrant({ token, secret, unanswered = [] }: ClaimRequest): Omit<LeaseGrant, 'ms'> {
    const grant = this.#grant('caller', null, token, secret)
    return { ...grant, unanswered: unanswered.map(secretAndHash) }
  }

  #grant(
    holder: LeaseGrant['holder'],
    worker: string | null,
    token: LeaseToken | undefined,
    secret = makeSecret(this.#options.random),
  ): Omit<LeaseGrant, 'ms'> {
    return { ...secretAndHash(secret), holder, worker, token: token ?? null }
  }
}

const noExecutors: FreeExecutors = { reserve: () => null }

const secretAndHash = (secret: string): LeaseSecret => ({ secret, hash: hashSecret(secret) })

function completionOf(request: CompleteRunRequest): Omit<CompleteRequest, 'actor'> {
  const { runId, leaseHash, outcome, result, error, stepResults, stepsNotAskedFor } = request
  return {
    ...(stepResults !== undefined && { stepResults }),
    ...(stepsNotAskedFor !== undefined && { stepsNotAskedFor }),
    runId,
    leaseHash,
    outcome,
    verdict: request.verdict ?? null,
    summary: request.summary ?? null,
    description: request.description ?? null,
    targetUrl: request.targetUrl ?? null,
    result: result === undefined ? null : JSON.stringify(result),
    errorCode: error?.code ?? null,
    errorText: error?.text ?? null,
  }
}
