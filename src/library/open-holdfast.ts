/** Opens the store for a program that embeds Holdfast, and keeps the leases it takes. */
import { StoreUnavailableError, ConflictError, InvalidInputError } from '../errors.ts'
import type { Config } from '../config.ts'
import { openStore, systemSeams, type Seams } from '../compose.ts'
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
import type { CheckedClaim, Completion, RunClaim } from './requests.ts'
import { checkClaim, checkCompletion } from './requests.ts'

const actor = 'library'
const retentionDaysDefault = 30
const completedKept = 1000
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
  const store = await openStore(settings, seams)
  return new EmbeddedHoldfast(settings, store, seams, log)
}

class EmbeddedHoldfast implements Holdfast {
  readonly #settings: Settings
  readonly #store: Store
  readonly #runs: RunsService
  readonly #seams: Seams
  readonly #log: Log
  readonly #sweeper: ReturnType<typeof createSweeper>
  readonly #held = new Map<string, KeptLease>()
  /** Lately completed, so that a repeated completion is answered like the first. */
  readonly #completed = new Map<string, KeptLease>()
  /** Keys that were let through without a claim, because the store could not be reached. */
  readonly #unclaimed = new Set<string>()

  constructor(settings: Settings, store: Store, seams: Seams, log: Log) {
    this.#settings = settings
    this.#store = store
    this.#seams = seams
    this.#log = log
    this.#runs = createRuns({
      ...seams,
      store,
      log,
      leaseMs: settings.leaseMs,
      policyOf: (type, kind) => runPolicy(settings, type, kind),
      headSource: null,
    })
    const { scheduler } = seams
    const onSwept = (runIds: readonly string[]): void => this.#runs.announce(runIds)
    this.#sweeper = createSweeper({ store, scheduler, log, beats: false, onSwept })
    this.#sweeper.start()
  }

  async checkAndClaimRun(claim: RunClaim, options: GateOptions = {}): Promise<Gate> {
    const checked = checkClaim(claim)
    try {
      const claimed = await this.#runs.claim(requestOf(checked), actor)
      return this.#gate(checked, claimed)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      this.#log.error({ err: error }, 'the store could not be reached at the gate')
      return this.#storeError(checked, options.onStoreError ?? 'closed')
    }
  }

  async completeRun(runKey: string, completion: Completion = {}): Promise<PublicRun | null> {
    const { type, ...rest } = checkCompletion(completion)
    const key = heldKey(type, runKey)
    const held = this.#held.get(key) ?? this.#completed.get(key)
    if (held === undefined) {
      if (this.#unclaimed.delete(key)) return null
      throw new ConflictError('lease_lost', `${runKey} is not held by this instance`, {
        hint: 'Complete a run where it was claimed, once, before close().',
      })
    }
    const { runId, leaseHash } = held
    const run = await this.#runs.complete({ ...rest, runId, leaseHash }, actor)
    await held.letGo()
    if (this.#held.get(key) === held) this.#held.delete(key)
    this.#rememberCompleted(key, held)
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
    const held = new KeptLease({
      runs: this.#runs,
      scheduler,
      log: this.#log,
      runId: run.id,
      token,
      leaseMs: run.leaseMs,
      actor,
    })
    // A lease of ours that this claim took over from is lost; there is nothing left to renew.
    void this.#held.get(heldKey(type, runKey))?.letGo()
    this.#held.set(heldKey(type, runKey), held)
    return held
  }

  #rememberCompleted(key: string, held: KeptLease): void {
    this.#completed.delete(key)
    this.#completed.set(key, held)
    const [oldest] = this.#completed.keys()
    if (this.#completed.size > completedKept && oldest !== undefined) {
      this.#completed.delete(oldest)
    }
  }

  #storeError(claim: CheckedClaim, choice: 'open' | 'closed'): Gate {
    const { repo, prNumber, baseSha, headSha, type } = claim
    const runKey = `${repo}:pr-${prNumber}:base-${baseSha}:head-${headSha}`
    if (choice === 'open') this.#unclaimed.add(heldKey(type, runKey))
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
