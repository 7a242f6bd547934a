/** The outbox's verbs over any driver. */
import type { Budget } from '../domain/outbox/budget.ts'
import type { DeliveryAttempt, Delivery } from '../domain/outbox/delivery.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import { StoreContendedError } from '../errors.ts'
import type * as port from '../outbox-store.ts'
import type { Once, Page, Paged } from '../store.ts'
import type { Driver } from './driver.ts'
import type { Verb } from './sql.ts'
import { sql } from './sql.ts'
import { blockedUntil, selectBudgets } from './tables/budget-table.ts'
import { beforeInLine, selectAttempts, selectDelivery } from './tables/delivery-table.ts'
import {
  beginAttempt,
  endAttempt,
  notePreparation,
  recordFinding,
} from './verbs/attempt-delivery.ts'
import { blockIdentity, refuseIdentity, unblockIdentity } from './verbs/budgets.ts'
import type { VerbContext } from './verbs/context.ts'
import { leaseDeliveries, nextDueAt, takeOverLeases, withPlaces } from './verbs/lease-deliveries.ts'
import { anchorsOf, listDeliveries, outboxBacklog } from './verbs/list-deliveries.ts'
import {
  ensureMarkerKey,
  exportMarkerKeys,
  importMarkerKeys,
  markerKeys,
  rotateMarkerKey,
} from './verbs/marker-keys.ts'
import { beginNoting, noteAll, readRestoreNote } from './verbs/note-restore.ts'
import { withOnce } from './verbs/once.ts'
import {
  closeForgotten,
  confirmDelivery,
  retryDeliveries,
  retryDelivery,
  skipDelivery,
} from './verbs/operate-delivery.ts'
import { closeRest, publishOwn, targetTakenError } from './verbs/own-output.ts'
import { sendMessage } from './verbs/send-message.ts'
import { authors, knowsSince, learnAuthor } from './verbs/publisher-identity.ts'

/** There is no note while somebody else has begun anew. */
const notingsMax = 5

export class SqlOutbox implements port.OutboxStore {
  readonly #driver: Driver
  readonly #context: VerbContext
  readonly #mendTimes: () => Promise<void>
  readonly rules: PublishingRules

  /** `mendTimes` comes before every question of what is due: the clock may have been set back. */
  constructor(driver: Driver, context: VerbContext, mendTimes: () => Promise<void>) {
    this.#driver = driver
    this.#context = context
    this.#mendTimes = mendTimes
    this.rules = context.publishing
  }

  async lease(room: port.LeaseRoom): Promise<readonly port.LeasedDelivery[]> {
    await this.#mendTimes()
    return await this.#driver.transact(() => leaseDeliveries(this.#context, room))
  }

  beginAttempt(request: port.BeginRequest): Promise<port.BeginAnswer> {
    return this.#driver.transact(() => beginAttempt(this.#context, request))
  }

  endAttempt(hold: port.DeliveryHold, report: port.AttemptReport): Promise<'recorded' | 'late'> {
    return this.#driver.transact(() => endAttempt(this.#context, hold, report))
  }

  record(hold: port.DeliveryHold, finding: Finding): Promise<'recorded' | 'lost'> {
    return this.#driver.transact(() => recordFinding(this.#context, hold, finding))
  }

  notePreparation(hold: port.DeliveryHold, when: 'begins' | 'ended'): Promise<'recorded' | 'lost'> {
    return this.#driver.transact(() => notePreparation(this.#context, hold, when))
  }

  takeOverLeases(): Promise<number> {
    return this.#driver.transact(() => takeOverLeases(this.#context))
  }

  async nextDueAt(): Promise<number | null> {
    await this.#mendTimes()
    return await this.#driver.read(nextDueAt)
  }

  blockIdentity(identity: string, until: number, reason: string, actor: port.Asker): Promise<void> {
    return this.#driver.transact(() => blockIdentity(this.#context, identity, until, reason, actor))
  }

  refuseIdentity(identity: string, reason: string): Promise<number> {
    return this.#driver.transact(() => refuseIdentity(this.#context, identity, reason))
  }

  unblock(identity: string, actor: string, once: Once | null): Promise<Budget> {
    return this.#once(once, () => unblockIdentity(this.#context, identity, actor))
  }

  budgets(): Promise<readonly Budget[]> {
    return this.#driver.read(selectBudgets)
  }

  async blockedUntil(identity: string): Promise<number | null> {
    const until = await this.#driver.read(() => blockedUntil(identity))
    return until !== null && until > this.#context.now() ? until : null
  }

  async publish(request: port.PublishRequest, once: Once | null): Promise<port.PublishAnswer> {
    const said = await this.#once(once, () => publishOwn(this.#context, request))
    // What a refused status says was kept: so the refusal follows the commit.
    if (said.isTaken) throw targetTakenError(this.#context, said.delivery)
    return said
  }

  send(request: port.MessageRequest): Promise<port.PublishAnswer> {
    return this.#driver.transact(() => sendMessage(this.#context, request))
  }

  delivery(id: string): Promise<Delivery | null> {
    return this.#driver.read(() => selectDelivery(id))
  }

  async messageBefore({ runId, line }: Pick<Delivery, 'runId' | 'line'>): Promise<Delivery | null> {
    return line === null || runId === null
      ? null
      : await this.#driver.read(() => beforeInLine(runId, line))
  }

  placed(id: string): Promise<port.PlacedDelivery | null> {
    return this.#driver.read(function* () {
      const delivery = yield* selectDelivery(id)
      return delivery === null ? null : ((yield* withPlaces([delivery]))[0] ?? null)
    })
  }

  attemptsOf(deliveryId: string): Promise<readonly DeliveryAttempt[]> {
    return this.#driver.read(() =>
      selectAttempts(sql`delivery_id = ${deliveryId} ORDER BY id DESC LIMIT 100`),
    )
  }

  list(filter: port.DeliveryFilter, page: Page): Promise<Paged<Delivery>> {
    return this.#driver.read(() => listDeliveries(filter, page, this.#context.now()))
  }

  anchorsOf(runs: readonly port.AnchorOf[]): Promise<ReadonlyMap<string, port.AnchorPlace>> {
    return this.#driver.read(() => anchorsOf(runs))
  }

  backlog(): Promise<port.OutboxBacklog> {
    return this.#driver.read(() => outboxBacklog(this.#context.now()))
  }

  retry(id: string, actor: string, once: Once | null): Promise<Delivery> {
    return this.#once(once, () => retryDelivery(this.#context, id, actor))
  }

  async retryMany(filter: port.RetryFilter, actor: string, once: Once | null): Promise<number> {
    const context = this.#context
    const { count } = await this.#once(once, function* () {
      return { count: yield* retryDeliveries(context, filter, actor) }
    })
    return count
  }

  skip(id: string, reason: string, actor: string, once: Once | null): Promise<Delivery> {
    return this.#once(once, () => skipDelivery(this.#context, id, reason, actor))
  }

  confirm(
    id: string,
    providerId: string | null,
    actor: string,
    once: Once | null,
  ): Promise<Delivery> {
    return this.#once(once, () => confirmDelivery(this.#context, id, providerId, actor))
  }

  async markerKeys(): Promise<readonly port.MarkerKey[]> {
    const known = await this.#driver.read(markerKeys)
    if (known.length > 0) return known
    return await this.#driver.transact(() => ensureMarkerKey(this.#context))
  }

  rotateMarkerKey(actor: string): Promise<readonly port.MarkerKey[]> {
    return this.#driver.transact(() => rotateMarkerKey(this.#context, actor))
  }

  exportMarkerKeys(actor: string): Promise<readonly port.MarkerKey[]> {
    return this.#driver.transact(() => exportMarkerKeys(this.#context, actor))
  }

  importMarkerKeys(keys: readonly port.MarkerKey[], actor: string): Promise<port.ImportedKeys> {
    return this.#driver.transact(() => importMarkerKeys(this.#context, keys, actor))
  }

  authors(): Promise<readonly port.Author[]> {
    return this.#driver.read(authors)
  }

  learnAuthor(author: port.Author): Promise<void> {
    return this.#driver.transact(() => learnAuthor(this.#context, author))
  }

  knowsSince(): Promise<number> {
    return this.#driver.read(() => knowsSince(this.#context.now()))
  }

  async noteRestore(): Promise<port.RestoreNote> {
    await this.#driver.transact(() => beginNoting(this.#context))
    for (let tries = 0; tries < notingsMax; tries += 1) {
      await noteAll(this.#driver, this.#context)
      const note = await this.restoreNote()
      if (note !== null) return note
    }
    throw new StoreContendedError('store_contended', 'others keep noting a restore anew', {
      hint: 'Try again. Nothing is published before all is noted.',
    })
  }

  restoreNote(): Promise<port.RestoreNote | null> {
    return this.#driver.read(() => readRestoreNote())
  }

  closeForgotten(limit: number): Promise<number> {
    return this.#driver.transact(() => closeForgotten(this.#context, limit))
  }

  closeRest(): Promise<boolean> {
    return this.#driver.transact(() => closeRest(this.#context))
  }

  #once<T>(once: Once | null, verb: () => Verb<T>): Promise<T> {
    return this.#driver.transact(() => withOnce(this.#context, once, verb))
  }
}
