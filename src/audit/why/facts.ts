/**
 * What is known about a question, read from the store: bounded however long history is, each read
 * along an index. The reads are not one snapshot; a run is read before its audit, so that a change
 * in between shows in the story and never the other way round.
 */
import type { AuditRow } from '../../domain/audit.ts'
import type { InboxEntry } from '../../domain/inbox.ts'
import type { Budget } from '../../domain/outbox/budget.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import { isOpen } from '../../domain/outbox/delivery.ts'
import type { PublishingRules } from '../../domain/outbox/schedule.ts'
import type { Run } from '../../domain/run.ts'
import type { Subject } from '../../domain/subject.ts'
import type { OutboxStore } from '../../store/outbox-store.ts'
import type { Store, StorePart } from '../../store.ts'
import { readSignatures } from '../refused-signatures.ts'
import { textOf } from './names.ts'

export type WhyStore = StorePart<{
  runs: 'get' | 'subject' | 'subjectsOf' | 'ahead' | 'list'
  audit: 'list' | 'get'
  inbox: 'get' | 'list'
  repositories: 'names'
  upkeep: 'vitals'
  tokens: 'get'
}> &
  Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'delivery' | 'messageBefore' | 'list' | 'budgets' | 'rules'>
  }

const runsOfTypeMax = 5
const rowsMax = 100
const webhooksMax = 20
/** Webhooks that are found only by what the runs' audit says of them. */
const furtherWebhooksMax = 10
const deliveriesMax = 20
/** Deliveries that only the audit speaks of: of older runs, or taken over by a newer one. */
const furtherDeliveriesMax = 10
const tokensMax = 20
/** Rows that are only known as causes: a limit of GitHub's, a restore, two repositories in one. */
const furtherCausesMax = 100

/** One subject as it is now. */
export interface SubjectFacts {
  /** Null when it was purged, or never was. */
  readonly subject: Subject | null
  /** The run that the answer is about; null when its row was purged. */
  readonly run: Run | null
  /** The one that a queue waits for; may be the run itself. */
  readonly ahead: Run | null
}

export interface Facts {
  readonly now: number
  readonly subjects: readonly SubjectFacts[]
  readonly runs: readonly Run[]
  /** Newest first. */
  readonly webhooks: readonly InboxEntry[]
  /** Oldest first, each once. */
  readonly rows: readonly AuditRow[]
  /** Whether there was more than is read. */
  readonly cut: boolean
  /** The question is about one run; what the same webhooks meant for others is left out. */
  readonly onlyRunId: string | null
  /** What has to be shown of the runs that the answer is about. */
  readonly deliveries: readonly Delivery[]
  /** Only named by the audit. */
  readonly otherDeliveries: readonly Delivery[]
  /** By the id of a message that waits for it: the one of its run that is sent before. */
  readonly messagesBefore: ReadonlyMap<string, Delivery>
  /** Empty unless a delivery waits for one. */
  readonly budgets: readonly Budget[]
  /** The question is about one delivery, and all that happened to it is told. */
  readonly isOfOneDelivery: boolean
  /** Wrong signatures of webhooks that still matter; only read where nothing else is known. */
  readonly refusals: readonly AuditRow[]
  /** A server's last sign of life, null when there was none; only read where something is open. */
  readonly servedAt: number | null
  readonly rules: PublishingRules
  /** Names of the tokens that the audit speaks of, by id; without those that are gone. */
  readonly tokenNames: ReadonlyMap<string, string>
}

/** The newest webhook that a run type listens to or that is not decided; else the newest. */
export function decisiveWebhook({ webhooks }: Facts): InboxEntry | null {
  const firsts = webhooks.filter(({ decision }) => decision !== 'duplicate')
  const telling = firsts.find(({ state, outcomes }) => state !== 'processed' || outcomes.length > 0)
  return telling ?? firsts[0] ?? null
}

/** Everything about a pull request or an issue. */
export async function readThread(store: WhyStore, repo: string, number: number): Promise<Facts> {
  const known = await store.runs.subjectsOf(repo, number)
  const sorted = known.toSorted((a, b) => (a.type < b.type ? -1 : 1))
  const read = await Promise.all(
    sorted.map(async (subject) => {
      const page = { limit: runsOfTypeMax, cursor: null }
      const found = await store.runs.list({ repo, pr: number, type: subject.type }, page)
      return { found, one: await subjectFacts(store, subject, found.items) }
    }),
  )
  const subjects = read.map(({ one }) => one)
  const runs = distinct([
    ...read.flatMap(({ found }) => found.items),
    ...subjects.flatMap(({ run, ahead }) => [run, ahead]).filter((run) => run !== null),
  ])
  const inbox = await store.inbox.list({ repo, number }, { limit: webhooksMax, cursor: null })
  const cut = inbox.nextCursor !== null || read.some(({ found }) => found.nextCursor !== null)
  // A purged run is no longer there, but what happened to it may be.
  const purged = subjects.flatMap(({ run, subject }) =>
    run === null ? [subject?.currentRunId] : [],
  )
  const ids = [...runs.map(({ id }) => id), ...purged.filter((id) => typeof id === 'string')]
  const current = subjects.flatMap(({ run, ahead }) => [run?.id, ahead?.id])
  const deliveries = await deliveriesOf(store, current)
  const webhooks = inbox.items
  const found = { subjects, runs, ids, webhooks, cut, onlyRunId: null, deliveries }
  const facts = await withAudit(store, found)
  if (subjects.length > 0 || webhooks.length > 0) return facts
  return { ...facts, refusals: (await readSignatures(store)).refused }
}

async function deliveriesOf(
  store: WhyStore,
  runIds: readonly (string | undefined)[],
): Promise<readonly Delivery[]> {
  const ids = new Set(runIds.filter((id) => id !== undefined))
  const page = { limit: deliveriesMax, cursor: null }
  const found = await Promise.all([...ids].map((runId) => store.outbox.list({ runId }, page)))
  // In the order in which they were wanted first, the comment before what came with it.
  return found.flatMap(({ items }) =>
    items.toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1)),
  )
}

async function subjectFacts(
  store: WhyStore,
  subject: Subject,
  runs: readonly Run[],
): Promise<SubjectFacts> {
  const { currentRunId } = subject
  const listed = runs.find(({ id }) => id === currentRunId)
  const run = listed ?? (currentRunId === null ? null : await store.runs.get(currentRunId))
  return { subject, run: run ?? null, ahead: await store.runs.ahead(subject.id) }
}

/** Null when nothing is left of it, not even its audit. */
export async function readRun(store: WhyStore, id: string): Promise<Facts | null> {
  const run = await store.runs.get(id)
  const subject = run === null ? null : await store.runs.subject(run.subjectId)
  const ahead = run === null ? null : await store.runs.ahead(run.subjectId)
  const runs = run === null ? [] : [run]
  const subjects = [{ subject, run, ahead }]
  const known = await withAudit(store, {
    subjects: subjects,
    runs,
    ids: [id],
    webhooks: [],
    cut: false,
    onlyRunId: id,
    deliveries: await deliveriesOf(store, [run?.id]),
  })
  return run === null && known.rows.length === 0 ? null : known
}

/** By its id or GUID. Null when nothing is left of it, not even its audit. */
export async function readWebhook(store: WhyStore, id: string): Promise<Facts | null> {
  const entry = (await store.inbox.get(id)) ?? (await store.inbox.get(id.toLowerCase()))
  if (entry === null) return await readPurgedWebhook(store, id)
  const first = entry.duplicateOf === null ? null : await store.inbox.get(entry.duplicateOf)
  const webhooks = first === null ? [entry] : [entry, first]
  const ids = [
    ...new Set(webhooks.flatMap(({ outcomes }) => outcomes.flatMap((one) => one.runIds))),
  ]
  const found = await Promise.all(ids.slice(0, webhooksMax).map((runId) => store.runs.get(runId)))
  const runs = found.filter((run) => run !== null)
  const nothing = { subjects: [], cut: false, onlyRunId: null, deliveries: [] }
  const known = await withAudit(store, { ...nothing, runs, ids, webhooks })
  const guids = new Set(webhooks.map(({ webhookId }) => webhookId))
  const inboxIds = new Set(webhooks.map((one) => one.duplicateOf ?? one.id))
  const own = new Set(known.rows.filter((row) => inboxIds.has(row.inboxId ?? '')).map(idOf))
  // Of the runs only what this webhook did to them, and nothing of other webhooks.
  const rows = known.rows.filter((row) => {
    if (row.runId === null) return own.has(row.id)
    return own.has(row.causeId ?? 0) || guids.has(textOf(row, 'webhook_id') ?? '')
  })
  return { ...known, webhooks, rows }
}

async function readPurgedWebhook(store: WhyStore, id: string): Promise<Facts | null> {
  if (!id.startsWith('inb_')) return null
  const { items } = await store.audit.list({ inboxId: id }, { limit: rowsMax, cursor: null })
  if (items.length === 0) return null
  return {
    ...empty,
    now: store.now(),
    rules: store.outbox.rules,
    rows: items.toReversed(),
  }
}

const empty: Omit<Facts, 'now' | 'rows' | 'rules'> = {
  subjects: [],
  runs: [],
  webhooks: [],
  cut: false,
  onlyRunId: null,
  deliveries: [],
  otherDeliveries: [],
  messagesBefore: new Map(),
  budgets: [],
  isOfOneDelivery: false,
  refusals: [],
  servedAt: null,
  tokenNames: new Map(),
}

/** Null when nothing is left of it, not even its audit. */
export async function readDelivery(store: WhyStore, id: string): Promise<Facts | null> {
  const delivery = await store.outbox.delivery(id)
  const page = { limit: rowsMax, cursor: null }
  const { items, nextCursor } = await store.audit.list({ deliveryId: id }, page)
  if (delivery === null && items.length === 0) return null
  const runIds = [...new Set([delivery?.runId, ...items.map(({ runId }) => runId)])]
  const known = runIds.filter((runId) => typeof runId === 'string').slice(0, runsOfTypeMax)
  const runs = await Promise.all(known.map((runId) => store.runs.get(runId)))
  const deliveries = delivery === null ? [] : [delivery]
  // Alone, what was sent would say nothing of why.
  const rows = await withCauses(store, items, () => true)
  return {
    ...empty,
    runs: runs.filter((run) => run !== null),
    rows,
    tokenNames: await tokenNames(store, rows),
    cut: nextCursor !== null,
    deliveries,
    messagesBefore: await messagesBefore(store, deliveries),
    budgets: await budgetsFor(store, deliveries),
    servedAt: await servedAtFor(store, deliveries),
    rules: store.outbox.rules,
    isOfOneDelivery: true,
    now: store.now(),
  }
}

async function messagesBefore(
  store: WhyStore,
  deliveries: readonly Delivery[],
): Promise<ReadonlyMap<string, Delivery>> {
  const waiting = deliveries.filter(({ wait }) => wait === 'order')
  const found = await Promise.all(
    waiting.map(async (delivery) => {
      const before = await store.outbox.messageBefore(delivery)
      return before === null ? [] : [[delivery.id, before] as const]
    }),
  )
  return new Map(found.flat())
}

async function budgetsFor(
  store: WhyStore,
  deliveries: readonly Delivery[],
): Promise<readonly Budget[]> {
  return deliveries.some(({ wait }) => wait === 'budget') ? await store.outbox.budgets() : []
}

async function servedAtFor(
  store: WhyStore,
  deliveries: readonly Delivery[],
): Promise<number | null> {
  return deliveries.some(isOpen) ? (await store.upkeep.vitals()).aliveAt : null
}

type Later =
  | 'now'
  | 'rows'
  | 'otherDeliveries'
  | 'messagesBefore'
  | 'budgets'
  | 'isOfOneDelivery'
  | 'tokenNames'
  | 'refusals'
  | 'servedAt'
  | 'rules'

interface ReadSoFar extends Omit<Facts, Later> {
  /** Of the runs whose audit is wanted, also of purged ones. */
  readonly ids: readonly string[]
}

async function withAudit(store: WhyStore, { ids, ...read }: ReadSoFar): Promise<Facts> {
  const page = { limit: rowsMax, cursor: null }
  const ofRuns = await Promise.all(ids.map((runId) => store.audit.list({ runId }, page)))
  const runRows = ofRuns.flatMap(({ items }) => items)
  const webhooks = [...read.webhooks, ...(await furtherWebhooks(store, runRows, read.webhooks))]
  const inboxIds = new Set(webhooks.map(({ id, duplicateOf }) => duplicateOf ?? id))
  const ofWebhooks = await Promise.all(
    [...inboxIds].map((inboxId) => store.audit.list({ inboxId }, page)),
  )
  const isCut = [...ofRuns, ...ofWebhooks].some(({ nextCursor }) => nextCursor !== null)
  const found = distinct([...runRows, ...ofWebhooks.flatMap(({ items }) => items)])
  const rows = await withCauses(store, found)
  return {
    ...read,
    webhooks,
    rows,
    tokenNames: await tokenNames(store, rows),
    cut: read.cut || isCut,
    otherDeliveries: await furtherDeliveries(store, rows, read.deliveries),
    messagesBefore: await messagesBefore(store, read.deliveries),
    budgets: await budgetsFor(store, read.deliveries),
    servedAt: await servedAtFor(store, read.deliveries),
    rules: store.outbox.rules,
    refusals: [],
    isOfOneDelivery: false,
    now: store.now(),
  }
}

/** Neither a run's nor a webhook's: those are read with their run or webhook. */
const isOfNeither = ({ runId, inboxId }: AuditRow): boolean => runId === null && inboxId == null

/** With those of their causes that are wanted, oldest first. */
async function withCauses(
  store: WhyStore,
  rows: readonly AuditRow[],
  isWanted: (row: AuditRow) => boolean = isOfNeither,
): Promise<readonly AuditRow[]> {
  const known = new Set(rows.map(({ id }) => id))
  const wanted = new Set(rows.flatMap(({ causeId }) => causeId ?? []))
  const missing = [...wanted].filter((id) => !known.has(id)).toSorted((a, b) => b - a)
  const found = await store.audit.get(missing.slice(0, furtherCausesMax))
  const causes = found.filter(isWanted)
  return [...rows, ...causes].toSorted((a, b) => a.id - b.id)
}

async function tokenNames(
  store: WhyStore,
  rows: readonly AuditRow[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(rows.flatMap(({ actor }) => /^token:(.+)$/.exec(actor)?.[1] ?? []))
  const found = await Promise.all([...ids].slice(0, tokensMax).map((id) => store.tokens.get(id)))
  return new Map(
    found.flatMap((stored) => {
      const { id, name } = stored ?? {}
      return id === undefined || name == null ? [] : [[id, name] as const]
    }),
  )
}

async function furtherDeliveries(
  store: WhyStore,
  rows: readonly AuditRow[],
  listed: readonly Delivery[],
): Promise<readonly Delivery[]> {
  const known = new Set(listed.map(({ id }) => id))
  const newestFirst = rows.toSorted((a, b) => b.id - a.id)
  const named = newestFirst.flatMap(({ deliveryId }) => deliveryId ?? [])
  const wanted = [...new Set(named)].filter((id) => !known.has(id))
  const found = await Promise.all(
    wanted.slice(0, furtherDeliveriesMax).map((id) => store.outbox.delivery(id)),
  )
  return found.filter((delivery) => delivery !== null)
}

/** Of those that the runs' audit speaks of, the newest that were not listed. */
async function furtherWebhooks(
  store: WhyStore,
  rows: readonly AuditRow[],
  listed: readonly InboxEntry[],
): Promise<readonly InboxEntry[]> {
  const known = new Set(listed.map(({ webhookId }) => webhookId))
  const newestFirst = rows.toSorted((a, b) => b.id - a.id)
  const guids = newestFirst.map((row) => textOf(row, 'webhook_id')).filter((id) => id !== null)
  const wanted = [...new Set(guids)].filter((guid) => !known.has(guid))
  const found = await Promise.all(
    wanted.slice(0, furtherWebhooksMax).map((guid) => store.inbox.get(guid)),
  )
  return found.filter((entry) => entry !== null)
}

const idOf = ({ id }: AuditRow): number => id

function distinct<T extends { readonly id: string | number }>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [item.id, item])).values()]
}
