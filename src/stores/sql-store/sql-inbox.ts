/** The inbox's verbs. Receiving and finishing go in batches. */
import type { InboxEntry } from '../../domain/inbox.ts'
import type * as port from '../../store.ts'
import { dueEntries } from '../tables/inbox-due.ts'
import { entriesByWebhook, inboxBacklog, selectBody, selectEntry } from '../tables/inbox-table.ts'
import { listInbox } from '../verbs/inbox/list-inbox.ts'
import { postponeWebhook, replayWebhook } from '../verbs/inbox/wait-webhook.ts'
import type { SqlBatches } from './sql-batches.ts'
import type { VerbRunner } from './verb-runner.ts'

export class SqlInbox implements port.InboxStore {
  readonly #runner: VerbRunner
  readonly #batches: SqlBatches
  readonly #correctTimes: () => Promise<void>

  constructor(runner: VerbRunner, batches: SqlBatches, correctTimes: () => Promise<void>) {
    this.#runner = runner
    this.#batches = batches
    this.#correctTimes = correctTimes
  }

  receive(webhook: port.NewWebhook): Promise<port.ReceivedWebhook> {
    return this.#batches.received.ask(webhook)
  }

  finish(
    decided: port.DecidedWebhook,
    offers?: port.ExecutorOffers,
  ): Promise<port.FinishedWebhook> {
    return this.#batches.finished.ask({ decided, offers })
  }

  postpone(entryId: string, dueAt: number, why: string): Promise<void> {
    const { context } = this.#runner
    return this.#runner.transact(() => postponeWebhook(context, entryId, dueAt, why))
  }

  replay(
    entryId: string,
    actor: string,
    idempotencyKey: port.IdempotencyKey | null,
  ): Promise<InboxEntry> {
    const { context } = this.#runner
    return this.#runner.withKey(idempotencyKey, () => replayWebhook(context, entryId, actor))
  }

  async due(request: port.DueRequest): Promise<port.DueWebhooks> {
    await this.#correctTimes()
    return await this.#runner.read(() => dueEntries(this.#runner.context.now(), request))
  }

  get(id: string): Promise<InboxEntry | null> {
    return this.#runner.read(() => selectEntry(id))
  }

  getByWebhookIds(webhookIds: readonly string[]): Promise<readonly InboxEntry[]> {
    return this.#runner.read(() => entriesByWebhook(webhookIds))
  }

  body(arrival: number): Promise<port.WebhookBody | null> {
    return this.#runner.read(() => selectBody(arrival))
  }

  list(filter: port.InboxFilter, page: port.Page): Promise<port.Paged<InboxEntry>> {
    return this.#runner.read(() => listInbox(filter, page))
  }

  backlog(): Promise<port.InboxBacklog> {
    return this.#runner.read(() => inboxBacklog())
  }
}
