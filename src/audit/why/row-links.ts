/**
 * What the rows of a story have to do with each other: which row led to which, and what was decided
 * about a webhook. All of it is found in one pass over the rows, because a story may have thousands
 * of them: each later question takes the same short time.
 */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import { textOf } from './names.ts'
import type { EventSummary } from './webhook-words.ts'
import { eventOfRow } from './webhook-words.ts'

const arrivalTypes = new Set<AuditType>([
  'webhook.received',
  'webhook.caught_up',
  'webhook.ignored',
  'operator.replay_requested',
])
export const decisionTypes = new Set<AuditType>([
  'webhook.processed',
  'webhook.ignored',
  'webhook.failed',
])

/** The arrival or replay of a webhook, but not the decision on it. */
export const isArrival = (row: AuditRow): boolean =>
  arrivalTypes.has(row.type) && (row.type !== 'webhook.ignored' || eventOfRow(row) !== null)

const noRuns: ReadonlySet<string> = new Set()

export class RowLinks {
  readonly #rows: ReadonlyMap<number, AuditRow>
  /** By GUID. */
  readonly #arrivals = new Map<string, AuditRow>()
  readonly #causeIds = new Set<number>()
  /** By the id of the cause; null for rows without one. */
  readonly #runIds = new Map<number | null, Set<string>>()
  /** By the id of the cause: the first row that says that its decision was postponed. */
  readonly #postponed = new Map<number, number>()
  /** By the id of an arrival. */
  readonly #decisions = new Map<number, AuditRow>()
  /** By the id of the webhook. */
  readonly #events = new Map<AuditRow['inboxId'], EventSummary>()
  /** Whether the rows are about more than one webhook. */
  readonly isOfSeveralWebhooks: boolean

  /** `rows`: oldest first. */
  constructor(rows: readonly AuditRow[]) {
    this.#rows = new Map(rows.map((row) => [row.id, row]))
    for (const row of rows) this.#addArrival(row)
    for (const row of rows) this.#addCause(row)
    const decisions = new Map<AuditRow['inboxId'], AuditRow>()
    for (const row of rows.toReversed()) {
      const next = decisions.get(row.inboxId)
      if (next !== undefined && isArrival(row)) this.#decisions.set(row.id, next)
      if (decisionTypes.has(row.type)) decisions.set(row.inboxId, row)
    }
    this.isOfSeveralWebhooks = new Set(rows.flatMap(({ inboxId }) => inboxId ?? [])).size > 1
  }

  #addArrival(row: AuditRow): void {
    const event = eventOfRow(row)
    if (event === null) return
    if (!this.#events.has(row.inboxId)) this.#events.set(row.inboxId, event)
    const guid = textOf(row, 'webhook_id') ?? ''
    if (isArrival(row) && !this.#arrivals.has(guid)) this.#arrivals.set(guid, row)
  }

  #addCause(row: AuditRow): void {
    const { id, type, runId, causeId } = row
    if (causeId !== null) {
      this.#causeIds.add(causeId)
      const isFirst = type === 'webhook.postponed' && !this.#postponed.has(causeId)
      if (isFirst) this.#postponed.set(causeId, id)
    }
    if (runId === null) return
    const ledById = this.causeOf(row)?.id ?? null
    const runIds = this.#runIds.get(ledById) ?? new Set()
    this.#runIds.set(ledById, runIds.add(runId))
  }

  /**
   * The row that led to it. If the row has no cause but names a webhook, that webhook's arrival.
   */
  causeOf(row: AuditRow): AuditRow | null {
    const { id, causeId } = row
    if (causeId !== null) return this.#rows.get(causeId) ?? null
    if (row.type.startsWith('operator.') || eventOfRow(row) !== null) return null
    const guid = textOf(row, 'webhook_id')
    const arrival = guid === null ? undefined : this.#arrivals.get(guid)
    return arrival === undefined || arrival.id >= id ? null : arrival
  }

  /** Whether it led to another row of the story. */
  isCause({ id }: AuditRow): boolean {
    return this.#causeIds.has(id)
  }

  /** The runs whose own rows say what it led to; for null, those with a row without a cause. */
  runIdsAfter(cause: AuditRow | null): ReadonlySet<string> {
    return this.#runIds.get(cause?.id ?? null) ?? noRuns
  }

  /** Whether a run's own row says what it led to. */
  hasRunRows(cause: AuditRow | null): boolean {
    return this.runIdsAfter(cause).size > 0
  }

  /** The first decision on the webhook after this arrival or replay. */
  decisionAfter(arrival: AuditRow): AuditRow | null {
    return this.#decisions.get(arrival.id) ?? null
  }

  wasPostponed(arrival: AuditRow, decision: AuditRow): boolean {
    return (this.#postponed.get(arrival.id) ?? decision.id) < decision.id
  }

  /** What the webhook of this row is about, if a row about its arrival is there. */
  eventOf({ inboxId }: AuditRow): EventSummary | null {
    return this.#events.get(inboxId) ?? null
  }
}
