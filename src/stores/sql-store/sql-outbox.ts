/** The outbox's verbs. */
import type { Budget } from '../../domain/outbox/budget.ts'
import type { DeliveryAttempt, Delivery } from '../../domain/outbox/delivery.ts'
import type { Finding } from '../../domain/outbox/outcome.ts'
import type { PublishingRules } from '../../domain/outbox/schedule.ts'
import { StoreContendedError } from '../../errors.ts'
import type * as port from '../../store/outbox-store.ts'
import type { IdempotencyKey, Page, Paged } from '../../store.ts'
import { sql } from '../sql.ts'
import { blockedUntil, selectBudgets } from '../tables/budget-table.ts'
import { beforeInLine, selectAttempts, selectDelivery } from '../tables/delivery-table.ts'
import {
  beginAttempt,
  endAttempt,
  notePreparation,
  recordFinding,
} from '../verbs/outbox/attempt-delivery.ts'
import { blockIdentity, refuseIdentity, unblockIdentity } from '../verbs/outbox/budgets.ts'
import type { VerbContext } from '../verbs/context.ts'
import {
  leaseDeliveries,
  nextDueAt,
  takeOverLeases,
  withPlaces,
} from '../verbs/outbox/lease-deliveries.ts'
import { closeRemaining } from '../verbs/outbox/close-output.ts'
import { anchorsOf, listDeliveries, outboxBacklog } from '../verbs/outbox/list-deliveries.ts'
import {
  ensureMarkerKey,
  exportMarkerKeys,
  importMarkerKeys,
  markerKeys,
  rotateMarkerKey,
} from '../verbs/outbox/marker-keys.ts'
import { beginNoting, noteAll, readRestoreNote } from '../verbs/outbox/note-restore.ts'
import {
  closeForgotten,
  confirmDelivery,
  retryDeliveries,
  retryDelivery,
  skipDelivery,
} from '../verbs/outbox/operate-delivery.ts'
import { publishOutput, sendMessage, targetTakenError } from '../verbs/outbox/publish-output.ts'
import { authors, knowsSince, learnAuthor } from '../verbs/outbox/publisher-identity.ts'
import type { VerbRunner } from './verb-runner.ts'

/** Another process may start the noting again, and then there is no note yet. */
const notingsMax = 5

export class SqlOutbox implements port.OutboxStore {
  readonly #runner: VerbRunner
  readonly #context: VerbContext
  readonly #correctTimes: () => Promise<void>
  readonly rules: PublishingRules

  /** `correctTimes` runs before each read of what is due: the clock may have been set back. */
  constructor(runner: VerbRunner, correctTimes: () => Promise<void>) {
    this.#runner = runner
    this.#context = runner.context
    this.#correctTimes = correctTimes
    this.rules = runner.context.publishing
  }

  async lease(room: port.LeaseRoom): Promise<readonly port.LeasedDelivery[]> {
    await this.#correctTimes()
    return await this.#runner.transact(() => leaseDeliveries(this.#context, room))
  }

  beginAttempt(request: port.BeginRequest): Promise<port.BeginAnswer> {
    return this.#runner.transact(() => beginAttempt(this.#context, request))
  }

  endAttempt(
    lease: port.DeliveryLease,
    report: port.AttemptReport,
  ): Promise<'recorded' | 'failed' | 'late'> {
    return this.#runner.transact(() => endAttempt(this.#context, lease, report))
  }

  record(lease: port.DeliveryLease, finding: Finding): Promise<'recorded' | 'failed' | 'lost'> {
    return this.#runner.transact(() => recordFinding(this.#context, lease, finding))
  }

  notePreparation(
    lease: port.DeliveryLease,
    when: 'begins' | 'ended',
  ): Promise<'recorded' | 'lost'> {
    return this.#runner.transact(() => notePreparation(this.#context, lease, when))
  }

  takeOverLeases(): Promise<number> {
    return this.#runner.transact(() => takeOverLeases(this.#context))
  }

  async nextDueAt(runId?: string): Promise<number | null> {
    await this.#correctTimes()
    return await this.#runner.read(() => nextDueAt(runId))
  }

  async blockIdentity(
    identity: string,
    until: number,
    reason: string,
    actor: port.Asker,
  ): Promise<void> {
    await this.#runner.transact(() => blockIdentity(this.#context, identity, until, reason, actor))
  }

  refuseIdentity(identity: string, reason: string): Promise<number> {
    return this.#runner.transact(() => refuseIdentity(this.#context, identity, reason))
  }

  unblock(identity: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<Budget> {
    return this.#runner.withKey(idempotencyKey, () =>
      unblockIdentity(this.#context, identity, actor),
    )
  }

  budgets(): Promise<readonly Budget[]> {
    return this.#runner.read(selectBudgets)
  }

  async blockedUntil(identity: string): Promise<number | null> {
    const until = await this.#runner.read(() => blockedUntil(identity))
    return until !== null && until > this.#context.now() ? until : null
  }

  async publish(
    request: port.PublishRequest,
    idempotencyKey: IdempotencyKey | null,
  ): Promise<port.PublishAnswer> {
    const published = await this.#runner.withKey(idempotencyKey, () =>
      publishOutput(this.#context, request),
    )
    // The output was kept for later, so the refusal comes after the commit.
    if (published.isTaken) throw targetTakenError(this.#context, published.delivery)
    return published
  }

  send(request: port.MessageRequest): Promise<port.PublishAnswer> {
    return this.#runner.transact(() => sendMessage(this.#context, request))
  }

  delivery(id: string): Promise<Delivery | null> {
    return this.#runner.read(() => selectDelivery(id))
  }

  async messageBefore({ runId, line }: Pick<Delivery, 'runId' | 'line'>): Promise<Delivery | null> {
    return line === null || runId === null
      ? null
      : await this.#runner.read(() => beforeInLine(runId, line))
  }

  deliveryWithPlace(id: string): Promise<port.PlacedDelivery | null> {
    return this.#runner.read(function* () {
      const delivery = yield* selectDelivery(id)
      return delivery === null ? null : ((yield* withPlaces([delivery]))[0] ?? null)
    })
  }

  attemptsOf(deliveryId: string): Promise<readonly DeliveryAttempt[]> {
    return this.#runner.read(() =>
      selectAttempts(sql`delivery_id = ${deliveryId} ORDER BY id DESC LIMIT 100`),
    )
  }

  list(filter: port.DeliveryFilter, page: Page): Promise<Paged<Delivery>> {
    return this.#runner.read(() => listDeliveries(filter, page, this.#context.now()))
  }

  anchorsOf(runs: readonly port.AnchorOf[]): Promise<ReadonlyMap<string, port.AnchorPlace>> {
    return this.#runner.read(() => anchorsOf(runs))
  }

  backlog(): Promise<port.OutboxBacklog> {
    return this.#runner.read(() => outboxBacklog(this.#context.now()))
  }

  retry(id: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<Delivery> {
    return this.#runner.withKey(idempotencyKey, () => retryDelivery(this.#context, id, actor))
  }

  async retryMany(
    filter: port.RetryFilter,
    actor: string,
    idempotencyKey: IdempotencyKey | null,
  ): Promise<number> {
    const context = this.#context
    const { count } = await this.#runner.withKey(idempotencyKey, function* () {
      return { count: yield* retryDeliveries(context, filter, actor) }
    })
    return count
  }

  skip(
    id: string,
    reason: string,
    actor: string,
    idempotencyKey: IdempotencyKey | null,
  ): Promise<Delivery> {
    return this.#runner.withKey(idempotencyKey, () =>
      skipDelivery(this.#context, id, reason, actor),
    )
  }

  confirm(
    id: string,
    providerId: string | null,
    actor: string,
    idempotencyKey: IdempotencyKey | null,
  ): Promise<Delivery> {
    return this.#runner.withKey(idempotencyKey, () =>
      confirmDelivery(this.#context, id, providerId, actor),
    )
  }

  async markerKeys(): Promise<readonly port.MarkerKey[]> {
    const known = await this.#runner.read(markerKeys)
    if (known.length > 0) return known
    return await this.#runner.transact(() => ensureMarkerKey(this.#context))
  }

  rotateMarkerKey(actor: string): Promise<readonly port.MarkerKey[]> {
    return this.#runner.transact(() => rotateMarkerKey(this.#context, actor))
  }

  exportMarkerKeys(actor: string): Promise<readonly port.MarkerKey[]> {
    return this.#runner.transact(() => exportMarkerKeys(this.#context, actor))
  }

  importMarkerKeys(keys: readonly port.MarkerKey[], actor: string): Promise<port.ImportedKeys> {
    return this.#runner.transact(() => importMarkerKeys(this.#context, keys, actor))
  }

  authors(): Promise<readonly port.Author[]> {
    return this.#runner.read(authors)
  }

  learnAuthor(author: port.Author): Promise<void> {
    return this.#runner.transact(() => learnAuthor(this.#context, author))
  }

  knowsSince(): Promise<number> {
    return this.#runner.read(() => knowsSince(this.#context.now()))
  }

  async noteRestore(): Promise<port.RestoreNote> {
    await this.#runner.transact(() => beginNoting(this.#context))
    for (let tries = 0; tries < notingsMax; tries += 1) {
      await noteAll(this.#runner.driver, this.#context)
      const note = await this.restoreNote()
      if (note !== null) return note
    }
    throw new StoreContendedError(
      'store_contended',
      'other processes keep starting the noting of a restore again',
      {
        hint: 'Try again. Nothing is published before the restore is noted completely.',
      },
    )
  }

  restoreNote(): Promise<port.RestoreNote | null> {
    return this.#runner.read(() => readRestoreNote())
  }

  closeForgotten(limit: number): Promise<number> {
    return this.#runner.transact(() => closeForgotten(this.#context, limit))
  }

  closeRemaining(): Promise<boolean> {
    return this.#runner.transact(() => closeRemaining(this.#context))
  }
}
