/** The one SQL implementation of the store, over any driver. */
import type { HeardAt, NameStanding } from '../domain/repository-names.ts'
import type { AuditRow } from '../domain/audit.ts'
import type { Claim } from '../domain/claim.ts'
import type { InboxEntry } from '../domain/inbox.ts'
import type { Run } from '../domain/run.ts'
import type { Subject } from '../domain/subject.ts'
import type { RepositoryLimit } from '../domain/token-limits.ts'
import { NotFoundError } from '../errors.ts'
import { makeId } from '../ids.ts'
import type { Random } from '../random.ts'
import type { Scheduler } from '../scheduler.ts'
import type * as port from '../store.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import { knownChannels, type ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import { defaultPublishing } from '../domain/outbox/schedule.ts'
import type { Driver, OnTogether } from './driver.ts'
import { LostRace } from './driver.ts'
import { Presence } from './presence.ts'
import { Turns } from './turns.ts'
import type { Verb } from './sql.ts'
import { SqlBatches } from './sql-batches.ts'
import { SqlCatchUp } from './sql-catch-up.ts'
import { SqlOutbox } from './sql-outbox.ts'
import { SqlTokens } from './sql-tokens.ts'
import { dueEntries } from './tables/inbox-due.ts'
import { inboxBacklog, selectBody, selectEntry } from './tables/inbox-table.ts'
import { repositoryById, repositoryByName, repositoryNames } from './tables/repository-table.ts'
import { selectRun } from './tables/run-table.ts'
import { selectSubject } from './tables/subject-table.ts'
import { auditAfter, latestAudit, listAudit, placeAudits } from './verbs/audit-order.ts'
import { rerunRun, settleHead } from './verbs/claim-again.ts'
import { claimRuns, subjectOf } from './verbs/claim-runs.ts'
import type { VerbContext } from './verbs/context.ts'
import { cancelRun, completeRun, sweepRun } from './verbs/end-run.ts'
import { availableTypes, heartbeatRun, leaseRun, releaseRun } from './verbs/hold-run.ts'
import {
  activeRuns,
  dueRuns,
  listInbox,
  listRuns,
  lostHolds,
  runAhead,
  subjectsOf,
} from './verbs/lists.ts'
import { mendTimes } from './verbs/mend-times.ts'
import { ensureMarkerKey } from './verbs/marker-keys.ts'
import { noteAll, noteServed, noticeBackup } from './verbs/note-restore.ts'
import type { OnceRules } from './verbs/once.ts'
import { withOnce } from './verbs/once.ts'
import { purge } from './verbs/purge.ts'
import { reportStatus } from './verbs/report-status.ts'
import { isLearnt, learnRepository, nameStanding, type Lesson } from './verbs/repositories.ts'
import { readState, writeStateOnce } from './verbs/state.ts'
import { storeVitals } from './verbs/vitals.ts'
import { postponeWebhook, replayWebhook } from './verbs/wait-webhook.ts'

/** Of a pool's ten connections: the others are for heartbeats, webhooks, batches and reads. */
const mostInTurn = 5
const turnPatienceMs = 30_000

export interface SqlStoreOptions {
  readonly random: Random
  readonly scheduler: Scheduler
  readonly onTogether?: OnTogether | undefined
  readonly publishing?: PublishingRules | undefined
  /** What runs are announced on, and what may be published. */
  readonly channels: readonly ChannelDeclaration[]
}

export class SqlStore extends SqlTokens implements port.Store {
  readonly #driver: Driver
  readonly #context: VerbContext
  readonly #batches: SqlBatches
  readonly #presence: Presence
  /** Null where one transaction follows the other anyway. */
  readonly #turns: Turns | null
  readonly outbox: SqlOutbox
  readonly catchUp: SqlCatchUp
  protected readonly means: SqlTokens['means']

  constructor(driver: Driver, options: SqlStoreOptions) {
    const { random, scheduler, onTogether, publishing, channels } = options
    super()
    this.#driver = driver
    this.#context = {
      dialect: driver.dialect,
      now: () => driver.now(),
      moment: () => this.#presence.moment(),
      restoredAt: () => this.#presence.restoredAt,
      newId: (prefix) => makeId(prefix, driver.now(), random),
      jitter: () => random.below(1000) / 1000,
      publishing: publishing ?? defaultPublishing,
      channels: knownChannels(channels),
      newMarkerKey: () => ({
        id: random.bytes(4).toString('hex'),
        secret: random.bytes(32).toString('base64url'),
      }),
    }
    const turns = { scheduler, mostAtOnce: mostInTurn, patienceMs: turnPatienceMs }
    this.#turns = driver.dialect.statementsTravel ? new Turns(turns) : null
    this.catchUp = new SqlCatchUp(driver, this.#context)
    this.means = { driver, context: this.#context }
    this.#presence = new Presence(driver, (by) => mendTimes(driver, this.#context, by))
    this.outbox = new SqlOutbox(driver, this.#context, () => this.#presence.mend())
    this.#batches = new SqlBatches({
      driver,
      context: this.#context,
      scheduler,
      onTogether,
      inTurn: (key, work) => this.#inTurn(key, work),
    })
  }

  now(): number {
    return this.#driver.now()
  }

  ping(): Promise<void> {
    return this.#driver.ping()
  }

  async close(): Promise<void> {
    await this.#batches.drain()
    await this.#driver.close()
  }

  claimRun(claim: Claim, once: port.Once | null): Promise<port.ClaimAnswer> {
    if (once === null) return this.#batches.claims.ask(claim)
    const context = this.#context
    return this.#inTurn(subjectOf(claim), () =>
      this.#once(once, () => claimAlone(context, claim), {
        holdOf: ({ process, run }) => (process ? run : null),
      }),
    )
  }

  /** For a verb that may have to wait for the lock of this key. */
  #inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#turns === null ? work() : this.#turns.take(key, work)
  }

  settleHead(settled: port.SettledHead): Promise<port.SettleAnswer> {
    return this.#inTurn(settled.runId, () =>
      this.#driver.transact(() => settleHead(this.#context, settled)),
    )
  }

  leaseRun(request: port.LeaseRequest, once: port.Once | null): Promise<port.LeaseAnswer | null> {
    return this.#once(once, () => leaseRun(this.#context, request), {
      holdOf: (answer) => answer?.run ?? null,
    })
  }

  availableTypes(
    types: readonly string[],
    any: boolean,
    repositories: readonly RepositoryLimit[] | null,
  ): Promise<readonly string[]> {
    return this.#driver.read(() => availableTypes(types, any, repositories))
  }

  heartbeatRun(request: port.HolderRequest, once: port.Once | null): Promise<port.HeartbeatAnswer> {
    const { runId: id, leaseHash } = request
    return this.#once(once, () => heartbeatRun(this.#context, request), {
      holdOf: ({ fence }) => ({ id, fence, leaseHash }),
    })
  }

  releaseRun(request: port.HolderRequest, once: port.Once | null): Promise<Run> {
    return this.#onceOf(request.runId, once, () => releaseRun(this.#context, request))
  }

  completeRun(request: port.CompleteRequest, once: port.Once | null): Promise<Run> {
    return this.#onceOf(request.runId, once, () => completeRun(this.#context, request))
  }

  reportStatus(request: port.ReportRequest, once: port.Once | null): Promise<Run> {
    return this.#onceOf(request.runId, once, () => reportStatus(this.#context, request))
  }

  cancelRun(runId: string, actor: string, once: port.Once | null): Promise<Run> {
    return this.#onceOf(runId, once, () => cancelRun(this.#context, runId, actor))
  }

  rerunRun(runId: string, actor: string, once: port.Once | null): Promise<port.ClaimAnswer> {
    return this.#onceOf(runId, once, () => rerunRun(this.#context, runId, actor))
  }

  receiveWebhook(webhook: port.NewWebhook): Promise<port.ReceivedWebhook> {
    return this.#batches.received.ask(webhook)
  }

  settleWebhook(decided: port.DecidedWebhook): Promise<port.SettledWebhook> {
    return this.#batches.settled.ask(decided)
  }

  postponeWebhook(entryId: string, dueAt: number, why: string): Promise<void> {
    return this.#driver.transact(() => postponeWebhook(this.#context, entryId, dueAt, why))
  }

  replayWebhook(entryId: string, actor: string, once: port.Once | null): Promise<InboxEntry> {
    return this.#once(once, () => replayWebhook(this.#context, entryId, actor))
  }

  async dueWebhooks(asked: port.DueAsked): Promise<port.DueWebhooks> {
    await this.#presence.mend()
    return await this.#driver.read(() => dueEntries(this.#driver.now(), asked))
  }

  inboxEntry(id: string): Promise<InboxEntry | null> {
    return this.#driver.read(() => selectEntry(id))
  }

  webhookBody(arrival: number): Promise<port.WebhookBody | null> {
    return this.#driver.read(() => selectBody(arrival))
  }

  listInbox(filter: port.InboxFilter, page: port.Page): Promise<port.Paged<InboxEntry>> {
    return this.#driver.read(() => listInbox(filter, page))
  }

  inboxBacklog(): Promise<port.InboxBacklog> {
    return this.#driver.read(() => inboxBacklog())
  }

  run(id: string): Promise<Run | null> {
    return this.#driver.read(() => selectRun(id))
  }

  subject(id: string): Promise<Subject | null> {
    return this.#driver.read(() => selectSubject(id))
  }

  subjectsOf(repo: string, pr: number, repoId?: number | null): Promise<readonly Subject[]> {
    return this.#driver.read(() => subjectsOf(repo, pr, repoId ?? null))
  }

  runAhead(subjectId: string): Promise<Run | null> {
    return this.#driver.read(() => runAhead(subjectId))
  }

  listRuns(filter: port.RunFilter, page: port.Page): Promise<port.Paged<Run>> {
    return this.#driver.read(() => listRuns(filter, page))
  }

  lostHolds(holds: readonly port.Hold[]): Promise<readonly string[]> {
    return this.#driver.read(() => lostHolds(holds))
  }

  activeRuns(): Promise<Readonly<Record<port.ActiveState, number>>> {
    return this.#driver.read(activeRuns)
  }

  async dueRuns(limit: number): Promise<readonly string[]> {
    await this.#presence.mend()
    return await this.#driver.read(() => dueRuns(this.#driver.now(), limit))
  }

  async sweepRun(runId: string): Promise<Run | null> {
    try {
      return await this.#onceOf(runId, null, () => sweepRun(this.#context, runId))
    } catch (error) {
      if (error instanceof NotFoundError) return null
      throw error
    }
  }

  async servedAt(): Promise<number | null> {
    const stored = await this.#driver.read(() => readState('alive_at'))
    return stored === null ? null : Number(stored)
  }

  vitals(): Promise<port.StoreVitals> {
    return this.#driver.read(() => storeVitals(this.#driver.now()))
  }

  beat(): Promise<void> {
    return this.#presence.beat()
  }

  watch(): Promise<void> {
    return this.#presence.watch()
  }

  purge(limits: port.PurgeLimits, actor: string): Promise<port.PurgeAnswer> {
    return this.#driver.transact(() => purge(this.#context, limits, actor))
  }

  async listAudit(filter: port.AuditFilter, page: port.Page): Promise<port.Paged<AuditRow>> {
    await this.placeAudits()
    return await this.#driver.read(() => listAudit(this.#context, filter, page))
  }

  async auditAfter(
    order: number,
    filter: port.AuditFilter,
    limit: number,
  ): Promise<port.AuditBite> {
    await this.placeAudits()
    return await this.#driver.read(() => auditAfter(this.#context, order, filter, limit))
  }

  async latestAuditOrder(): Promise<number> {
    const found = await this.#driver.read(() => latestAudit(this.#context))
    if (!found.unplaced) return found.order
    await this.#placeAll()
    return (await this.#driver.read(() => latestAudit(this.#context))).order
  }

  async placeAudits(): Promise<void> {
    if (!this.#driver.dialect.placesAudits) return
    const { unplaced } = await this.#driver.read(() => latestAudit(this.#context))
    if (unplaced) await this.#placeAll()
  }

  async #placeAll(): Promise<void> {
    while (await this.#driver.transact(placeAudits));
  }

  repository(id: string): Promise<port.KnownRepository | null> {
    return this.#driver.read(() => repositoryById(id))
  }

  repositoryNamed(name: string): Promise<port.KnownRepository | null> {
    return this.#driver.read(() => repositoryByName(name))
  }

  async learnRepository(name: string, githubId: number, at: HeardAt, actor: string): Promise<void> {
    await this.#learn({ name, githubId, at, actor, isTold: false })
  }

  tellRepository(
    name: string,
    githubId: number,
    at: number | null,
    actor: string,
  ): Promise<NameStanding> {
    return this.#learn({ name, githubId, at, actor, isTold: true })
  }

  async #learn(lesson: Lesson): Promise<NameStanding> {
    if (await this.#driver.read(() => isLearnt(this.#context, lesson))) return 'known'
    return await this.#driver.transact(() => learnRepository(this.#context, lesson))
  }

  nameStanding(name: string, githubId: number): Promise<NameStanding> {
    return this.#driver.read(() => nameStanding(name, githubId))
  }

  repositoryNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#driver.read(() => repositoryNames(ids))
  }

  async recordMode(mode: port.StoreMode): Promise<port.StoreMode> {
    const context = this.#context
    const recorded = await this.#driver.transact(function* () {
      yield* writeStateOnce('first_started_at', String(context.now()))
      // Before anything can be signed with it: so every backup has it.
      yield* ensureMarkerKey(context)
      yield* noticeBackup(context)
      return (yield* writeStateOnce('mode', mode)) as port.StoreMode
    })
    // Also what a process before this one has begun to note.
    await noteAll(this.#driver, context)
    await this.#driver.transact(() => noteServed(context))
    return recorded
  }

  async firstStartedAt(): Promise<number | null> {
    const stored = await this.#driver.read(() => readState('first_started_at'))
    return stored === null ? null : Number(stored)
  }

  /** What changes a run waits for its turn. */
  #onceOf<T>(runId: string, once: port.Once | null, verb: () => Verb<T>): Promise<T> {
    return this.#inTurn(runId, () => this.#once(once, verb))
  }

  #once<T>(once: port.Once | null, verb: () => Verb<T>, rules: OnceRules<T> = {}): Promise<T> {
    return this.#driver.transact(() => withOnce(this.#context, once, verb, rules))
  }
}

function* claimAlone(context: VerbContext, claim: Claim): Verb<port.ClaimAnswer> {
  const [answer] = yield* claimRuns(context, [claim])
  if (answer instanceof Error) throw answer
  if (answer === undefined || answer === 'deferred') throw new LostRace('not decided')
  return answer
}
