/** Opens the store for a program that embeds Holdfast, and keeps the leases it takes. */
import {
  ConflictError,
  InvalidInputError,
  StoreContendedError,
  StoreUnavailableError,
} from '../errors.ts'
import type { Config } from '../config.ts'
import { openStore, systemSeams, type Seams } from '../open-store.ts'
import { unannounced } from '../domain/run.ts'
import type { Log } from '../log.ts'
import { createRuns, type RunsService } from '../runs/create-runs.ts'
import { purgeAll, purgeLimits, withFinishedDays } from '../runs/purge.ts'
import type { Claimed } from '../runs/runs.ts'
import { createSweeper } from '../runs/sweeper.ts'
import { loadSettings } from '../settings/load-settings.ts'
import { runPolicy } from '../settings/run-policy.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../store.ts'
import type { Gate, GateOptions, Holdfast, PublicRun } from './holdfast.ts'
import { publicRun } from './holdfast.ts'
import { KeptLease } from './kept-lease.ts'
import { RecentMap } from './recent-map.ts'
import type { CheckedClaim, Completion, RunClaim } from './requests.ts'
import { checkClaim, checkCompletion, checkReport } from './requests.ts'

const actor = 'library'
const retentionDaysDefault = 30
const never = new AbortController().signal
const quiet: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore }

export interface OpenOptions extends Partial<Seams> {
  /** Where warnings go, such as a lease that could not be renewed. Default: nowhere. */
  readonly log?: Log
}

/**
 * Opens Holdfast on the database that `config.databaseUrl` names (default: `sqlite:` in
 * `config.dataDir`). The environment and `holdfast.config.ts` are not read.
 */
export async function openHoldfast(config: Config, options: OpenOptions = {}): Promise<Holdfast> {
  const { log = quiet, ...given } = options
  const seams = { ...systemSeams, ...given }
  const settings = await loadSettings({ env: {}, cwd: process.cwd(), inline: config })
  const store = await openStore(settings, { ...seams, log })
  // What it announces is published by a server; without one nobody ever would.
  const isServed = await store.isServed()
  return new EmbeddedHoldfast(settings, store, seams, log, isServed)
}

class EmbeddedHoldfast implements Holdfast {
  readonly #settings: Settings
  readonly #store: Store
  readonly #runs: RunsService
  readonly #seams: Seams
  readonly #log: Log
  readonly #sweeper: ReturnType<typeof createSweeper>
  readonly #held = new Map<string, KeptLease>()
  /** Lately completed or lost, so that a late or repeated completion hears what became of it. */
  readonly #past = new RecentMap<KeptLease>()
  /** Keys that were let through without a claim, because the store could not be reached. */
  readonly #unclaimed = new RecentMap<true>()
  #closing = false

  constructor(settings: Settings, store: Store, seams: Seams, log: Log, isServed: boolean) {
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
    const { status: text, type } = checkReport({ ...of, status })
    const key = heldKey(type, runKey)
    const held = this.#held.get(key) ?? this.#past.get(key)
    if (held === undefined) {
      if (this.#unclaimed.get(key) === true) return
      throw notHeld(runKey, 'Report on a run where it was claimed, before it is completed.')
    }
    const { runId, leaseHash } = held
    await this.#store.reportStatus({ runId, leaseHash, text, actor }, null)
  }

  async completeRun(runKey: string, completion: Completion = {}): Promise<PublicRun | null> {
    const { type, ...rest } = checkCompletion(completion)
    const key = heldKey(type, runKey)
    const held = this.#held.get(key) ?? this.#past.get(key)
    if (held === undefined) {
      if (this.#unclaimed.delete(key)) return null
      throw notHeld(runKey, 'Complete a run where it was claimed, once, before close().')
    }
    const { runId, leaseHash } = held
    const run = await held.finish(() => this.#runs.complete({ ...rest, runId, leaseHash }, actor))
    this.#retire(key, held)
    return publicRun(run)
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
    await Promise.all([...this.#held.values()].map((held) => held.letGo()))
    this.#held.clear()
    await this.#sweeper.stop()
    await this.#store.close()
  }

  #gate(claim: CheckedClaim, claimed: Claimed): Gate {
    const { shouldProcess, reason, runKey, supersededRunKeys, run, lease } = claimed
    const held = run && lease && this.#keep(claim.type, runKey, run, lease.token)
    return {
      shouldProcess,
      runKey,
      reason,
      supersededRunKeys,
      run: run && publicRun(run),
      lease,
      signal: held?.signal ?? never,
    }
  }

  #keep(
    type: string,
    runKey: string,
    run: { readonly id: string; readonly leaseMs: number },
    token: string,
  ): KeptLease {
    const { scheduler } = this.#seams
    const key = heldKey(type, runKey)
    const held = new KeptLease({
      runs: this.#runs,
      scheduler,
      log: this.#log,
      runId: run.id,
      token,
      leaseMs: run.leaseMs,
      actor,
      onLost: () => this.#retire(key, held),
    })
    // An earlier lease of ours on this key is lost by this one, whether it has heard of it or not.
    void this.#held.get(key)?.letGo()
    this.#held.set(key, held)
    if (this.#closing) void held.letGo()
    return held
  }

  #retire(key: string, held: KeptLease): void {
    if (this.#held.get(key) === held) this.#held.delete(key)
    this.#past.set(key, held)
  }

  #storeError(claim: CheckedClaim, choice: 'open' | 'closed'): Gate {
    const { repo, prNumber, baseSha, headSha, type } = claim
    const runKey = `${repo}:pr-${prNumber}:base-${baseSha}:head-${headSha}`
    if (choice === 'open') this.#unclaimed.set(heldKey(type, runKey), true)
    return {
      shouldProcess: choice === 'open',
      runKey,
      reason: 'store-error',
      supersededRunKeys: [],
      run: null,
      lease: null,
      signal: never,
    }
  }
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
