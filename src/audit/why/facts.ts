/**
 * Reads what is known about a question from the store. The reads are bounded, however long the
 * history is, and each uses an index. They are not one snapshot: a run is read before its audit. So
 * a change in between is in the story, but not yet in the run.
 */
import type { AuditRow } from '../../domain/audit.ts'
import type { InboxEntry } from '../../domain/inbox.ts'
import type { Budget } from '../../domain/outbox/budget.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import type { PublishingRules } from '../../domain/outbox/schedule.ts'
import type { Run } from '../../domain/run.ts'
import type { Step } from '../../domain/step.ts'
import type { Subject } from '../../domain/subject.ts'
import type { OutboxStore } from '../../store/outbox-store.ts'
import type { Store, StorePart } from '../../store.ts'
import { readSignatures } from '../refused-signatures.ts'
import { withRunTypes } from './delivery-words.ts'
import { readHeldSteps } from './held-steps.ts'
import { textOf } from './names.ts'
import { tokenNames } from './token-names.ts'
import type { NamedWebhookStore, StoryPlace } from './named-webhooks.ts'
import { noNamedWebhooks, readNamedWebhooks } from './named-webhooks.ts'

export type WhyStore = StorePart<{
  runs: 'get' | 'subject' | 'subjectsOf' | 'ahead' | 'list'
  audit: 'list' | 'get'
  inbox: 'get' | 'list'
  repositories: 'names'
  upkeep: 'servedAt'
  tokens: 'get'
  steps: 'list'
}> &
  NamedWebhookStore &
  Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'delivery' | 'messageBefore' | 'list' | 'budgets' | 'rules'>
  }

const runsOfTypeMax = 5
const rowsMax = 100
const webhooksMax = 20
/** Of webhooks that only the audit of runs names: how many are read with all their rows. */
const namedWithRowsMax = 10
const deliveriesMax = 20
/** Deliveries that only the audit names: of older runs, or taken over by a newer run. */
const furtherDeliveriesMax = 10
/** Rows that are read only as causes: a webhook, a limit of GitHub's, a merged repository. */
const furtherCausesMax = 100

/** One subject as it is now. */
export interface SubjectFacts {
  /** Null if it was purged or never existed. */
  readonly subject: Subject | null
  /** The run that the answer is about; null if it was purged. */
  readonly run: Run | null
  /** The run at the front of the queue; it may be the run itself. */
  readonly ahead: Run | null
}

export interface Facts {
  readonly now: number
  readonly subjects: readonly SubjectFacts[]
  readonly runs: readonly Run[]
  /** Newest first; after them, those that only the audit of the runs names. */
  readonly webhooks: readonly InboxEntry[]
  /** GUIDs in the audit of the runs that were looked for and are not stored any more. */
  readonly removedWebhooks: ReadonlySet<string>
  /** Oldest first, each once. */
  readonly rows: readonly AuditRow[]
  /** Whether there is more than was read. */
  readonly cut: boolean
  /** Set if the question is about one run. What webhooks meant for other runs is left out. */
  readonly onlyRunId: string | null
  /** The deliveries of the runs that the answer is about. */
  readonly deliveries: readonly Delivery[]
  /** Deliveries that only the audit names. */
  readonly otherDeliveries: readonly Delivery[]
  /** By the id of a run that waits for a person: the step to decide about. */
  readonly heldSteps: ReadonlyMap<string, Step>
  /** For a message that waits in the line of its run, by its id: the message before it. */
  readonly messagesBefore: ReadonlyMap<string, Delivery>
  /** Empty unless a delivery waits for one. */
  readonly budgets: readonly Budget[]
  /** The question is about one delivery, so the story leaves nothing of it out. */
  readonly isOfOneDelivery: boolean
  /** Refused signatures that still matter. They are read only if nothing else is known. */
  readonly refusals: readonly AuditRow[]
  /** When a server was last active; null if never. */
  readonly servedAt: number | null
  readonly rules: PublishingRules
  /** Names of the tokens in the audit, by id, without deleted ones. */
  readonly tokenNames: ReadonlyMap<string, string>
}

/** The newest webhook that a run type listens to or that is not decided; else the newest. */
export function decisiveWebhook({ webhooks }: Facts): InboxEntry | null {
  const firsts = webhooks.filter(({ decision }) => decision !== 'duplicate')
  const decisive = firsts.find(
    ({ state, outcomes }) => state !== 'processed' || outcomes.length > 0,
  )
  return decisive ?? firsts[0] ?? null
}

/** Everything about a pull request or an issue. */
export async function readThread(store: WhyStore, repo: string, number: number): Promise<Facts> {
  const found = await store.runs.subjectsOf(repo, number)
  const sorted = found.toSorted((a, b) => (a.type < b.type ? -1 : 1))
  const read = await Promise.all(
    sorted.map(async (subject) => {
      const page = { limit: runsOfTypeMax, cursor: null }
      const listed = await store.runs.list({ repo, pr: number, type: subject.type }, page)
      return { listed, one: await subjectFacts(store, subject, listed.items) }
    }),
  )
  const subjects = read.map(({ one }) => one)
  const runs = distinct([
    ...read.flatMap(({ listed }) => listed.items),
    ...subjects.flatMap(({ run, ahead }) => [run, ahead]).filter((run) => run !== null),
  ])
  const inbox = await store.inbox.list({ repo, number }, { limit: webhooksMax, cursor: null })
  const cut = inbox.nextCursor !== null || read.some(({ listed }) => listed.nextCursor !== null)
  // A purged run is gone, but its audit may still exist.
  const purged = subjects.flatMap(({ run, subject }) =>
    run === null ? [subject?.currentRunId] : [],
  )
  const ids = [...runs.map(({ id }) => id), ...purged.filter((id) => typeof id === 'string')]
  const current = subjects.flatMap(({ run, ahead }) => [run?.id, ahead?.id])
  const deliveries = await deliveriesOf(store, current)
  const webhooks = inbox.items
  const [first] = found
  const place = first === undefined ? null : { scope: first.scope, pr: number }
  const readSoFar = { subjects, runs, ids, place, webhooks, cut, onlyRunId: null, deliveries }
  const facts = await withAudit(store, readSoFar)
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
  // In the order of their first version, then by name.
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

/** Returns null if nothing is left of it, not even its audit. */
export async function readRun(store: WhyStore, id: string): Promise<Facts | null> {
  const run = await store.runs.get(id)
  const subject = run === null ? null : await store.runs.subject(run.subjectId)
  const ahead = run === null ? null : await store.runs.ahead(run.subjectId)
  const runs = run === null ? [] : [run]
  const subjects = [{ subject, run, ahead }]
  const facts = await withAudit(store, {
    subjects,
    runs,
    ids: [id],
    place: run,
    webhooks: [],
    cut: false,
    onlyRunId: id,
    deliveries: await deliveriesOf(store, [run?.id]),
  })
  return run === null && facts.rows.length === 0 ? null : facts
}

/** By its id or GUID. Returns null if nothing is left of it, not even its audit. */
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
  const facts = await withAudit(store, { ...nothing, runs, ids, place: null, webhooks })
  const guids = new Set(webhooks.map(({ webhookId }) => webhookId))
  const inboxIds = new Set(webhooks.map((one) => one.duplicateOf ?? one.id))
  const own = new Set(facts.rows.filter((row) => inboxIds.has(row.inboxId ?? '')).map(idOf))
  // Of the runs, only what this webhook did to them.
  const rows = facts.rows.filter((row) => {
    if (row.runId === null) return own.has(row.id)
    return own.has(row.causeId ?? 0) || guids.has(textOf(row, 'webhook_id') ?? '')
  })
  return { ...facts, webhooks, rows }
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
  removedWebhooks: new Set(),
  cut: false,
  onlyRunId: null,
  deliveries: [],
  otherDeliveries: [],
  heldSteps: new Map(),
  messagesBefore: new Map(),
  budgets: [],
  isOfOneDelivery: false,
  refusals: [],
  servedAt: null,
  tokenNames: new Map(),
}

/** Returns null if nothing is left of it, not even its audit. */
export async function readDelivery(store: WhyStore, id: string): Promise<Facts | null> {
  const delivery = await store.outbox.delivery(id)
  const page = { limit: rowsMax, cursor: null }
  const { items, nextCursor } = await store.audit.list({ deliveryId: id }, page)
  if (delivery === null && items.length === 0) return null
  const runIds = [...new Set([delivery?.runId, ...items.map(({ runId }) => runId)])]
  const wanted = runIds.filter((runId) => typeof runId === 'string').slice(0, runsOfTypeMax)
  const runs = await Promise.all(wanted.map((runId) => store.runs.get(runId)))
  const deliveries = delivery === null ? [] : [delivery]
  // Without its cause, a sent delivery would not say why.
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
    servedAt: await store.upkeep.servedAt(),
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

/** The facts that `withAudit` adds. */
type AddedByAudit =
  | 'now'
  | 'rows'
  | 'removedWebhooks'
  | 'otherDeliveries'
  | 'heldSteps'
  | 'messagesBefore'
  | 'budgets'
  | 'isOfOneDelivery'
  | 'tokenNames'
  | 'refusals'
  | 'servedAt'
  | 'rules'

interface ReadSoFar extends Omit<Facts, AddedByAudit> {
  /** Of the runs whose audit is wanted, also of purged ones. */
  readonly ids: readonly string[]
  /** What the runs are about; null if no further webhooks are wanted. */
  readonly place: StoryPlace | null
}

async function withAudit(store: WhyStore, { ids, place, ...read }: ReadSoFar): Promise<Facts> {
  const page = { limit: rowsMax, cursor: null }
  const ofRuns = await Promise.all(ids.map((runId) => store.audit.list({ runId }, page)))
  const runRows = ofRuns.flatMap(({ items }) => items)
  const { found: named, removed } =
    place === null ? noNamedWebhooks : await readNamedWebhooks(store, runRows, read.webhooks, place)
  const inboxIds = firstIdsOf([...read.webhooks, ...named.slice(0, namedWithRowsMax)])
  const ofWebhooks = await Promise.all(
    [...inboxIds].map((inboxId) => store.audit.list({ inboxId }, page)),
  )
  const isCut = [...ofRuns, ...ofWebhooks].some(({ nextCursor }) => nextCursor !== null)
  const found = distinct([...runRows, ...ofWebhooks.flatMap(({ items }) => items)])
  const webhooks = [...read.webhooks, ...named]
  const rows = await withCauses(store, found, isCauseOfRuns(firstIdsOf(webhooks)))
  return {
    ...read,
    webhooks,
    removedWebhooks: removed,
    rows,
    tokenNames: await tokenNames(store, rows),
    cut: read.cut || isCut,
    deliveries: withRunTypes(read.deliveries, read.runs),
    otherDeliveries: withRunTypes(await furtherDeliveries(store, rows, read.deliveries), read.runs),
    heldSteps: await readHeldSteps(
      store,
      read.subjects.flatMap(({ run, ahead }) => [run, ahead]),
    ),
    messagesBefore: await messagesBefore(store, read.deliveries),
    budgets: await budgetsFor(store, read.deliveries),
    servedAt: await store.upkeep.servedAt(),
    rules: store.outbox.rules,
    refusals: [],
    isOfOneDelivery: false,
    now: store.now(),
  }
}

/** Of each event, the entry that its audit rows name. */
const firstIdsOf = (webhooks: readonly InboxEntry[]): ReadonlySet<string> =>
  new Set(webhooks.map(({ id, duplicateOf }) => duplicateOf ?? id))

/** Rows of runs are read with their run; rows of other webhooks must not be shown. */
const isCauseOfRuns =
  (inboxIds: ReadonlySet<string>) =>
  ({ runId, inboxId }: AuditRow): boolean =>
    runId === null && (inboxId == null || inboxIds.has(inboxId))

/** The rows with their wanted causes, oldest first. */
async function withCauses(
  store: WhyStore,
  rows: readonly AuditRow[],
  isWanted: (row: AuditRow) => boolean,
): Promise<readonly AuditRow[]> {
  const readIds = new Set(rows.map(({ id }) => id))
  const wanted = new Set(rows.flatMap(({ causeId }) => causeId ?? []))
  const missing = [...wanted].filter((id) => !readIds.has(id)).toSorted((a, b) => b - a)
  const found = await store.audit.get(missing.slice(0, furtherCausesMax))
  const causes = found.filter(isWanted)
  return [...rows, ...causes].toSorted((a, b) => a.id - b.id)
}

async function furtherDeliveries(
  store: WhyStore,
  rows: readonly AuditRow[],
  listed: readonly Delivery[],
): Promise<readonly Delivery[]> {
  const listedIds = new Set(listed.map(({ id }) => id))
  const newestFirst = rows.toSorted((a, b) => b.id - a.id)
  const named = newestFirst.flatMap(({ deliveryId }) => deliveryId ?? [])
  const wanted = [...new Set(named)].filter((id) => !listedIds.has(id))
  const found = await Promise.all(
    wanted.slice(0, furtherDeliveriesMax).map((id) => store.outbox.delivery(id)),
  )
  return found.filter((delivery) => delivery !== null)
}

const idOf = ({ id }: AuditRow): number => id

function distinct<T extends { readonly id: string | number }>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [item.id, item])).values()]
}
