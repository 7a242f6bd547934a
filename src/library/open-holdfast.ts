/** Opens the store for a program that embeds Holdfast, and keeps the leases it takes. */
import {
  ConflictError,
  InvalidInputError,
  StoreContendedError,
  StoreUnavailableError,
} from '../errors.ts'
import type { Config } from '../config.ts'
import { openStore, systemSeams, type Seams } from '../open-store.ts'
import { unannounced, type Run } from '../domain/run.ts'
import type { Log } from '../log.ts'
import { createRuns, type RunsService } from '../runs/create-runs.ts'
import { purgeAll, purgeLimits, withFinishedDays } from '../runs/purge.ts'
import type { Claimed } from '../runs/runs.ts'
import { createSweeper } from '../runs/sweeper.ts'
import { loadSettings } from '../settings/load-settings.ts'
import { publishRights } from '../settings/publish-rights.ts'
import { runPolicy } from '../settings/run-policy.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../store.ts'
import { GrantedLeases } from './granted-leases.ts'
import type { Gate, GateOptions, Holdfast, PublicRun, Published } from './holdfast.ts'
import { publicRun } from './holdfast.ts'
import { KeptLease } from './kept-lease.ts'
import { orderWarning } from './order-warning.ts'
import { RecentMap } from './recent-map.ts'
import type { CheckedClaim, Completion, Output, RunClaim } from './requests.ts'
import { checkClaim, checkCompletion, checkOutput, checkReport } from './requests.ts'

const actor = 'library'
const retentionDaysDefault = 30
const never = new AbortController().signal
const quiet: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore }

type GateVerbs = Pick<Gate, 'complete' | 'report' | 'publish'>

export interface OpenOptions extends Partial<Seams> {
  /**
   * Where warnings go, such as a lease that could not be renewed. Default: nowhere, but for one
   * warning of the process when a claim does not say when its event happened.
   */
  readonly log?: Log
}

/**
 * Opens Holdfast on the database that `config.databaseUrl` names (default: `sqlite:` in
 * `config.dataDir`). The environment and `holdfast.config.ts` are not read.
 */
export async function openHoldfast(config: Config, options: OpenOptions = {}): Promise<Holdfast> {
  const { log = quiet, ...ownSeams } = options
  const seams = { ...systemSeams, ...ownSeams }
  const settings = await loadSettings({ env: {}, cwd: process.cwd(), inline: config })
  const store = await openStore(settings, { ...seams, log })
  // What it announces is published by a server; without one nobody ever would.
  const isServed = (await store.servedAt()) !== null
  // Before anything may be taken from a holder, know how long they could not reach the store.
  await store.watch()
  const given = { isServed, warnAbout: orderWarning(options.log) }
  return new EmbeddedHoldfast(settings, store, seams, log, given)
}

interface Circumstances {
  readonly isServed: boolean
  readonly warnAbout: (claim: CheckedClaim) => void
}

class EmbeddedHoldfast implements Holdfast {
  readonly #settings: Settings
  readonly #store: Store
  readonly #runs: RunsService
  readonly #seams: Seams
  readonly #log: Log
  readonly #warnAbout: (claim: CheckedClaim) => void
  readonly #sweeper: ReturnType<typeof createSweeper>
  readonly #granted = new GrantedLeases()
  /** Keys that were let through without a claim, because the store could not be reached. */
  readonly #unclaimed = new RecentMap<true>()
  #closing = false

  constructor(
    settings: Settings,
    store: Store,
    seams: Seams,
    log: Log,
    { isServed, warnAbout }: Circumstances,
  ) {
    this.#warnAbout = warnAbout
    this.#settings = settings
    this.#store = store
    this.#seams = seams
    this.#log = log
    this.#runs = createRuns({
      ...seams,
      store,
      log,
      leaseMs: settings.leaseMs,
      policyOf: (type, kind) => {
        const policy = runPolicy(settings, type, kind)
        return isServed ? policy : { ...policy, announcement: unannounced }
      },
      headSource: null,
    })
    const { scheduler } = seams
    this.#sweeper = createSweeper({
      store,
      scheduler,
      log,
      serves: false,
      onSwept: (swept) => this.#runs.announceSwept(swept),
    })
    this.#sweeper.start()
  }

  async checkAndClaimRun(claim: RunClaim, options: GateOptions = {}): Promise<Gate> {
    const checked = checkClaim(claim)
    this.#warnAbout(checked)
    try {
      const claimed = await this.#runs.claim(requestOf(checked), actor)
      return this.#gate(checked, claimed)
    } catch (error) {
      // Contended means that somebody is at this very subject: no reason to open.
      const contended = error instanceof StoreContendedError
      if (!contended && !(error instanceof StoreUnavailableError)) throw error
      this.#log.error({ err: error }, 'the store could not decide at the gate')
      return this.#storeError(checked, contended ? 'closed' : (options.onStoreError ?? 'closed'))
    }
  }

  async reportRunStatus(
    runKey: string,
    status: string,
    of: { readonly type?: string } = {},
  ): Promise<void> {
    const { type } = checkReport({ ...of, status })
    const key = heldKey(type, runKey)
    const lease = this.#granted.meantBy(key, runKey, 'report()')
    if (lease !== undefined) await this.#report(lease, status)
    else if (this.#unclaimed.get(key) !== true) {
      throw notHeld(runKey, 'Report on a run where it was claimed, before it is completed.')
    }
  }

  async completeRun(runKey: string, completion: Completion = {}): Promise<PublicRun | null> {
    const { type } = checkCompletion(completion)
    const key = heldKey(type, runKey)
    const lease = this.#granted.meantBy(key, runKey, 'complete()')
    if (lease !== undefined) return await this.#complete(key, lease, completion)
    if (this.#unclaimed.delete(key)) return null
    throw notHeld(runKey, 'Complete a run where it was claimed, once, before close().')
  }

  async purgeOldRuns(retentionDays: number = retentionDaysDefault): Promise<number> {
    if (!Number.isFinite(retentionDays) || retentionDays < 0) {
      throw new InvalidInputError(
        'invalid_value',
        'retentionDays',
        'retentionDays must be a number of days, 0 or more',
      )
    }
    const retention = withFinishedDays(this.#settings.retention, retentionDays)
    return await purgeAll(this.#store, purgeLimits(retention), actor)
  }

  async close(): Promise<void> {
    this.#closing = true
    await this.#granted.letGo()
    await this.#sweeper.stop()
    await this.#store.close()
  }

  #gate(claim: CheckedClaim, claimed: Claimed): Gate {
    const { shouldProcess, reason, runKey, supersededRunKeys, run, lease } = claimed
    const key = heldKey(claim.type, runKey)
    const kept = run && lease && this.#keep(key, run, lease.token)
    const answer = { shouldProcess, runKey, reason, supersededRunKeys, lease }
    const own = kept === null ? ungranted(runKey, reason) : this.#boundTo(key, kept)
    return { ...answer, run: run && publicRun(run), signal: kept?.signal ?? never, ...own }
  }

  /** Whatever is said through the gate is said with its own lease, whoever holds the run by now. */
  #boundTo(key: string, lease: KeptLease): GateVerbs {
    return {
      complete: (completion = {}) => this.#complete(key, lease, completion),
      report: (status) => this.#report(lease, status),
      publish: (name, output) => this.#publish(lease, name, output),
    }
  }

  async #complete(key: string, lease: KeptLease, completion: Completion): Promise<PublicRun> {
    const { type: _type, ...rest } = checkCompletion(completion)
    const { runId, leaseHash } = lease
    const run = await lease.finish(() => this.#runs.complete({ ...rest, runId, leaseHash }, actor))
    this.#granted.retire(key, lease)
    return publicRun(run)
  }

  async #report({ runId, leaseHash }: KeptLease, status: string): Promise<void> {
    const { status: text } = checkReport({ status })
    await this.#store.reportStatus({ runId, leaseHash, text, actor }, null)
  }

  async #publish(
    { runId, leaseHash }: KeptLease,
    name: string,
    output: Output,
  ): Promise<Published> {
    const rightsOf = publishRights(this.#settings)
    const request = { ...checkOutput(name, output), runId, leaseHash, actor, rightsOf }
    const { delivery, already } = await this.#store.outbox.publish(request, null)
    return { deliveryId: delivery.id, already }
  }

  #keep(key: string, { id, leaseMs }: Pick<Run, 'id' | 'leaseMs'>, token: string): KeptLease {
    const lease: KeptLease = new KeptLease({
      runs: this.#runs,
      scheduler: this.#seams.scheduler,
      log: this.#log,
      runId: id,
      token,
      leaseMs,
      actor,
      onLost: () => this.#granted.retire(key, lease),
    })
    this.#granted.add(key, lease)
    if (this.#closing) void lease.letGo()
    return lease
  }

  #storeError(claim: CheckedClaim, choice: 'open' | 'closed'): Gate {
    const { repo, prNumber, baseSha, headSha, type } = claim
    const runKey = `${repo}:pr-${prNumber}:base-${baseSha}:head-${headSha}`
    const key = heldKey(type, runKey)
    if (choice === 'open') this.#unclaimed.set(key, true)
    return {
      shouldProcess: choice === 'open',
      runKey,
      reason: 'store-error',
      supersededRunKeys: [],
      run: null,
      lease: null,
      signal: never,
      ...(choice === 'open' ? withoutRun : ungranted(runKey, 'store-error')),
    }
  }
}

/** Of a gate that failed open: there is no run to say anything of. */
const withoutRun: GateVerbs = {
  complete: () => Promise.resolve(null),
  report: () => Promise.resolve(),
  publish: () => Promise.resolve(null),
}

function ungranted(runKey: string, reason: Gate['reason']): GateVerbs {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new ConflictError('lease_lost', `${runKey} was not granted to this gate: ${reason}`, {
        hint: 'Work only where shouldProcess is true.',
      }),
    )
  return { complete: refuse, report: refuse, publish: refuse }
}

function notHeld(runKey: string, hint: string): ConflictError {
  return new ConflictError('lease_lost', `${runKey} is not held by this instance`, { hint })
}

const heldKey = (type: string, runKey: string): string => `${type} ${runKey}`

function requestOf(claim: CheckedClaim): Parameters<RunsService['claim']>[0] {
  const { prNumber, deliveryId, eventAt, ...rest } = claim
  return {
    ...rest,
    kind: 'pull_request',
    pr: prNumber,
    webhookId: deliveryId,
    eventAt: eventAt?.getTime(),
  }
}

function ignore(): void {
  // A program that gave no log wants silence.
}
