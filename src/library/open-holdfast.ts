/** Opens the store for a program that embeds Holdfast, and renews the leases that it gets. */
import {
  ConflictError,
  InvalidInputError,
  StoreContendedError,
  StoreUnavailableError,
} from '../errors.ts'
import { resultMark } from '../channels/result-mark.ts'
import type { Config } from '../config.ts'
import { pairOf, pullRequestKey } from '../domain/pair.ts'
import type { Run } from '../domain/run.ts'
import type { Log } from '../log.ts'
import { systemMachine, type Machine } from '../open-store.ts'
import type { Caller } from '../operations/caller.ts'
import { publishDelivery, reportRunStatus } from '../operations/outputs.ts'
import type { RunsService } from '../runs/create-runs.ts'
import { purgeAll, purgeLimits, withFinishedDays } from '../runs/purge.ts'
import type { Claimed } from '../runs/runs.ts'
import { loadSettings } from '../settings/load-settings.ts'
import { makeSecret } from '../secrets.ts'
import { publishRights } from '../settings/run-types/publish-rights.ts'
import type { Settings } from '../settings/settings.ts'
import type { PublishedOutput } from './find-output.ts'
import { openGitHubAccess, type GitHubAccess } from './github-access.ts'
import { GrantedLeases, heldKey, notHeld } from './granted-leases.ts'
import type { Gate, GateOptions, Holdfast, PublicRun, Published } from './holdfast.ts'
import { publicRun } from './holdfast.ts'
import { KeptLease } from '../runs/kept-lease.ts'
import { orderWarning, warnOfStore } from './warnings.ts'
import { OutputGate } from './output-gate.ts'
import { asLibraryErrors, withLibraryErrors } from './library-errors.ts'
import type { CheckedClaim, CheckedCompletion, Completion, Output, RunClaim } from './requests.ts'
import {
  checkClaim,
  checkGateOptions,
  checkOpenOptions,
  checkCompletion,
  checkOutput,
  checkOutputKey,
  checkReport,
} from './requests.ts'
import { openEmbeddedStore, StoreAccess, type OpenedStore } from './store-access.ts'
import { UnansweredClaims } from './unanswered-claims.ts'
import { neverAborted, storeErrorGate, ungranted, type GateVerbs } from './ungranted-gates.ts'
import { withDatabase } from './which-database.ts'

const actor = 'library'
const retentionDaysDefault = 30
const quiet: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore }

export interface OpenOptions extends Partial<Machine> {
  /**
   * Where warnings go, for example that a lease could not be renewed. Without a log, Node prints
   * two of them (`process.emitWarning`): a claim does not say when its event happened, and the
   * store could not be reached at the start while `onStoreError` is `open`.
   */
  readonly log?: Log
  /** Credentials for GitHub. Only `ensureNotPublished` needs them. */
  readonly github?: GitHubAccess
  /**
   * The default for every gate: see GateOptions. With `open`, `openHoldfast` also resolves if the
   * store cannot be reached. Each later call tries to open it again.
   */
  readonly onStoreError?: 'open' | 'closed'
}

/**
 * Opens Holdfast on the database that `config.databaseUrl` names (default: `sqlite:` in
 * `config.dataDir`). The environment and `holdfast.config.ts` are not read.
 */
export async function openHoldfast(
  config: Config = {},
  options: OpenOptions = {},
): Promise<Holdfast> {
  return withLibraryErrors(await asLibraryErrors(() => open(config, options)))
}

async function open(config: Config, options: OpenOptions): Promise<Holdfast> {
  const { onStoreError = 'closed' } = checkOpenOptions(options)
  const { log = quiet, github, onStoreError: _given, ...ownMachine } = options
  const machine = { ...systemMachine, ...ownMachine, log }
  const settings = await loadSettings({ env: {}, cwd: process.cwd(), inline: config })
  const connection = github === undefined ? null : await openGitHubAccess(github, settings, machine)
  const access = new StoreAccess(() =>
    openEmbeddedStore(settings, machine).catch((error: unknown) => {
      throw withDatabase(error, settings)
    }),
  )
  try {
    await access.get()
  } catch (error) {
    if (onStoreError === 'closed' || !(error instanceof StoreUnavailableError)) throw error
    warnOfStore(error, options.log)
  }
  const outputs = new OutputGate(settings, connection)
  const warnAbout = orderWarning(options.log)
  return new EmbeddedHoldfast({ settings, access, machine, onStoreError, outputs, warnAbout })
}

interface EmbeddedParts {
  readonly settings: Settings
  readonly access: StoreAccess
  readonly machine: Machine & { readonly log: Log }
  readonly onStoreError: 'open' | 'closed'
  readonly outputs: OutputGate
  readonly warnAbout: (claim: CheckedClaim) => void
}

class EmbeddedHoldfast implements Holdfast {
  readonly #parts: EmbeddedParts
  readonly #granted = new GrantedLeases()
  readonly #unanswered: UnansweredClaims
  #closing = false

  constructor(parts: EmbeddedParts) {
    this.#parts = parts
    this.#unanswered = new UnansweredClaims(parts.machine.clock)
  }

  async checkAndClaimRun(claim: RunClaim, options: GateOptions = {}): Promise<Gate> {
    const { machine, onStoreError, warnAbout } = this.#parts
    const checked = checkClaim(claim)
    const { onStoreError: choice = onStoreError } = checkGateOptions(options)
    this.#checkOpen()
    warnAbout(checked)
    try {
      const { opened, claimed } = await this.#claim(checked, choice)
      const gate = this.#gate(opened, checked, claimed)
      this.#checkOpen()
      return gate
    } catch (error) {
      // A closed instance is not an outage of the store, so it does not open the gate.
      this.#checkOpen()
      // Contended means that somebody else works on this subject, so the gate stays closed.
      const contended = error instanceof StoreContendedError
      if (!contended && !(error instanceof StoreUnavailableError)) throw error
      machine.log.error({ err: error }, 'Could not ask the database whether to process this event')
      return this.#storeError(checked, contended ? 'closed' : choice)
    }
  }

  /**
   * A claim whose answer was lost may have a lease. The next claim of its key asks for that one.
   */
  async #claim(claim: CheckedClaim, choice: Choice) {
    const key = heldKey(claim.type, runKeyOf(claim))
    const secret = makeSecret(this.#parts.machine.random)
    const unanswered = this.#unanswered.take(key)
    try {
      const opened = await this.#parts.access.get()
      await opened.noticeServer()
      const request = { ...requestOf(claim), secret, unanswered }
      return { opened, claimed: await opened.runs.claim(request, actor) }
    } catch (error) {
      const isUnknown = error instanceof StoreUnavailableError
      // A gate that fails open starts to work, so a second gate must not get the same lease.
      if (!isUnknown) this.#unanswered.keep(key, unanswered)
      else if (choice === 'closed') this.#unanswered.keep(key, [...unanswered, secret])
      throw error
    }
  }

  async ensureNotPublished(
    output: RunClaim | string,
    of: { readonly type?: string } = {},
  ): Promise<PublishedOutput> {
    const type = typeof output === 'string' ? this.#typeOf(output, of.type) : of.type
    return await this.#parts.outputs.check(checkOutputKey(output, { ...of, ...(type && { type }) }))
  }

  async reportRunStatus(
    runKey: string,
    status: string,
    of: { readonly type?: string } = {},
  ): Promise<void> {
    const { type: named, status: text } = checkReport('reportRunStatus', status, of)
    const type = this.#typeOf(runKey, named)
    const key = heldKey(type, runKey)
    this.#checkOpen()
    const lease = this.#granted.leaseOf(key, runKey, 'report()')
    if (lease !== undefined) await this.#report(lease, text)
    else if (!this.#granted.isUnclaimed(key)) {
      throw notHeld('reportRunStatus', { runKey, type }, this.#granted.typesOf(runKey))
    }
  }

  async completeRun(runKey: string, completion: Completion = {}): Promise<PublicRun | null> {
    const checked = checkCompletion('completeRun', completion)
    const type = this.#typeOf(runKey, checked.type)
    const key = heldKey(type, runKey)
    this.#checkOpen()
    const lease = this.#granted.leaseOf(key, runKey, 'complete()')
    if (lease !== undefined) return await this.#complete(key, lease, checked)
    if (this.#granted.endUnclaimed(key)) return null
    throw notHeld('completeRun', { runKey, type }, this.#granted.typesOf(runKey))
  }

  /** The type that the caller names, or else the only one that the run key was claimed with. */
  #typeOf(runKey: string, named: string | undefined): string {
    const [claimed, ...others] = this.#granted.typesOf(runKey)
    return named ?? (claimed !== undefined && others.length === 0 ? claimed : 'review')
  }

  async purgeOldRuns(retentionDays: number = retentionDaysDefault): Promise<number> {
    if (!Number.isFinite(retentionDays) || retentionDays < 0) {
      throw new InvalidInputError(
        'invalid_value',
        'retentionDays',
        'purgeOldRuns: retentionDays must be a number of days, 0 or more',
      )
    }
    const retention = withFinishedDays(this.#parts.settings.retention, retentionDays)
    return await this.#inStore(({ store }) => purgeAll(store, purgeLimits(retention), actor))
  }

  async close(): Promise<void> {
    this.#closing = true
    await this.#granted.closeAll(closedError())
    await this.#parts.access.close()
  }

  #checkOpen(): void {
    if (this.#closing) throw closedError()
  }

  async #inStore<T>(work: (opened: OpenedStore) => Promise<T>): Promise<T> {
    this.#checkOpen()
    try {
      return await work(await this.#parts.access.get())
    } catch (error) {
      // The store may be unavailable because this instance closed it.
      if (error instanceof StoreUnavailableError) this.#checkOpen()
      throw error
    }
  }

  #gate(opened: OpenedStore, claim: CheckedClaim, claimed: Claimed): Gate {
    const { shouldProcess, reason, runKey, supersededRunKeys, run, lease } = claimed
    const key = heldKey(claim.type, runKey)
    const kept = run && lease && this.#keepLease(opened.runs, key, run, lease.token)
    const answer = { shouldProcess, runKey, reason, supersededRunKeys, lease }
    const own = kept === null ? ungranted(runKey, reason) : this.#boundTo(key, kept)
    return {
      ...answer,
      resultMark: markOf(claim),
      run: run && publicRun(run),
      signal: kept?.signal ?? neverAborted,
      ...own,
    }
  }

  /** A gate always uses its own lease, even if somebody else holds the run by now. */
  #boundTo(key: string, lease: KeptLease): GateVerbs {
    return {
      complete: async (completion = {}) =>
        await this.#complete(key, lease, checkCompletion('gate.complete', completion)),
      report: async (status) =>
        await this.#report(lease, checkReport('gate.report', status).status),
      publish: (name, output) => this.#publish(lease, name, output),
    }
  }

  async #complete(
    key: string,
    lease: KeptLease,
    { type: _type, ...completion }: CheckedCompletion,
  ): Promise<PublicRun> {
    const { runId, leaseHash } = lease
    this.#checkOpen()
    const run = await lease.finish(() =>
      this.#inStore(({ runs }) => runs.complete({ ...completion, runId, leaseHash }, actor)),
    )
    this.#granted.retire(key, lease)
    return publicRun(run)
  }

  async #report(lease: KeptLease, text: string): Promise<void> {
    const { random } = this.#parts.machine
    const input = { id: lease.runId, status: text }
    await lease.whileHeld(() =>
      this.#inStore(({ store }) => reportRunStatus({ store, random }, holderOf(lease), input)),
    )
  }

  async #publish(lease: KeptLease, name: string, output: Output): Promise<Published> {
    const rights = publishRights(this.#parts.settings)
    const input = { id: lease.runId, name, output: checkOutput('gate.publish', name, output) }
    const { id: deliveryId, already } = await lease.whileHeld(() =>
      this.#inStore(({ store }) =>
        publishDelivery({ store, publishRights: rights }, holderOf(lease), input),
      ),
    )
    return { deliveryId, already }
  }

  #keepLease(
    runs: RunsService,
    key: string,
    { id, leaseMs, fence, round, attempt }: Run,
    token: string,
  ): KeptLease {
    const { scheduler, clock, log } = this.#parts.machine
    const lease: KeptLease = new KeptLease({
      ...{ runs, scheduler, clock, log },
      runId: id,
      token,
      fence,
      isFirst: round === 1 && attempt === 1,
      leaseMs,
      renewAtOnce: true,
      actor,
      onLost: () => this.#granted.retire(key, lease),
    })
    this.#granted.add(key, lease)
    if (this.#closing) void lease.close(closedError())
    return lease
  }

  #storeError(claim: CheckedClaim, choice: 'open' | 'closed'): Gate {
    const gate = storeErrorGate(claim, markOf(claim), choice)
    if (choice === 'closed') return gate
    const key = heldKey(claim.type, gate.runKey)
    this.#granted.addUnclaimed(key)
    const complete = async (): Promise<null> => {
      this.#granted.endUnclaimed(key)
      return null
    }
    return { ...gate, complete }
  }
}

function closedError(): ConflictError {
  return new ConflictError('closed', 'this Holdfast instance is closed', {
    hint: 'Open another one with openHoldfast(), or stop taking events before close().',
  })
}

/** The caller of a gate's operations: the holder of its lease, who reaches no other run. */
function holderOf({ runId, leaseHash }: KeptLease): Caller {
  return { kind: 'run', actor, runId, leaseHash, tokenId: null }
}

type Choice = 'open' | 'closed'

const runKeyOf = (claim: CheckedClaim): string => pullRequestKey(claim.repo, claim.prNumber, claim)

const markOf = (claim: CheckedClaim): string =>
  resultMark({ type: claim.type, pairs: [pairOf(claim)] })

function requestOf(claim: CheckedClaim): Parameters<RunsService['claim']>[0] {
  const { prNumber, deliveryId, eventAt, ...others } = claim
  return {
    ...others,
    kind: 'pull_request',
    pr: prNumber,
    webhookId: deliveryId,
    eventAt: eventAt?.getTime(),
  }
}

function ignore(): void {
  // A program that gave no log gets no log lines.
}
