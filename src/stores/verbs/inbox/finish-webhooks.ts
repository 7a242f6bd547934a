/**
 * Finishes waiting webhooks: what was decided is done and audited in the commit that ends the wait.
 * After a crash an entry either still waits and nothing was done, or it is done.
 *
 * Two processes may decide one entry at the same time; the one that locks it finishes it. Order of
 * locks: entries, then subjects, then runs.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { Claim } from '../../../domain/claim.ts'
import type { InboxEntry, TypeOutcome } from '../../../domain/inbox.ts'
import { decisionOf } from '../../../domain/inbox.ts'
import { headNewerThanComment } from '../../../domain/outbox/refusal.ts'
import type { Run } from '../../../domain/run.ts'
import type { ClaimAnswer, DecidedWebhook, FinishedWebhook, WebhookAct } from '../../../store.ts'
import type { BatchAnswer } from '../../sql-store/batcher.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { insertDecisions, webhookCauses } from '../../tables/audit-table.ts'
import {
  lockWaiting,
  overtakenEntries,
  unclearEntries,
  writeEntries,
} from '../../tables/inbox-table.ts'
import { cancelClosed, isClosingInDoubt } from './cancel-closed.ts'
import { claimRuns } from '../runs/claim-runs.ts'
import { refuseComment } from './refuse-comment.ts'
import type { VerbContext } from '../context.ts'

type ClaimAct = Extract<WebhookAct, { readonly act: 'claim' }>

/** One act of one entry, and its outcome. */
interface PlannedAct {
  readonly entry: InboxEntry
  /** The audit row that led to deciding on it. */
  readonly causeId: number | null
  readonly act: WebhookAct
  /** A later event opened or closed the pull request again. */
  readonly overtaken: boolean
  /** GitHub was asked, or cannot be asked. */
  readonly looked: boolean
  outcome: TypeOutcome | null
  claim: ClaimAnswer | null
  cancelled: readonly Run[]
}

export function* finishWebhooks(
  context: VerbContext,
  decided: readonly DecidedWebhook[],
): Verb<FinishedWebhook[]> {
  const ids = decided.map(({ entryId }) => entryId)
  const waiting = yield* lockWaiting(ids, context.dialect.lockFree('inbox'))
  const found = new Map(waiting.map((item) => [item.entry.id, item]))
  const next = waiting.filter(({ behind }) => !behind).map(({ entry }) => entry)
  const unclear = yield* unclearAmong(next, decided)
  const ready = next.filter(({ id }) => !unclear.has(id))
  const overtaken = ready.length > 0 ? yield* overtakenEntries(ready.map(({ id }) => id)) : null
  const causes = yield* webhookCauses(ready.map(({ id }) => id))
  const causeOf = ({ id }: InboxEntry): number | null => causes.get(id)?.newestId ?? null
  const planned = ready.flatMap((entry) =>
    actsOf(decided, entry).map((act): PlannedAct => {
      const isOvertaken = overtaken?.has(entry.id) === true
      const looked = decided.find(({ entryId }) => entryId === entry.id)?.looked === true
      const known = { entry, causeId: causeOf(entry), act, overtaken: isOvertaken, looked }
      return { ...known, outcome: null, claim: null, cancelled: [] }
    }),
  )
  yield* perform(context, planned)
  yield* checkStillOpen(planned)
  const finished = new Map<string, InboxEntry>()
  for (const entry of ready) {
    const decision = decided.find(({ entryId }) => entryId === entry.id)
    finished.set(entry.id, finishedEntry(context, entry, planned, decision))
  }
  yield* writeEntries([...finished.values()])
  yield* insertDecisions(
    [...finished.values()].map((entry) => ({ drafts: [auditOf(entry)], causeId: causeOf(entry) })),
    context.now(),
  )
  return decided.map(({ entryId }): FinishedWebhook => {
    const entry = finished.get(entryId)
    if (entry === undefined) {
      const isBehind = found.get(entryId)?.behind === true
      const result = unclear.has(entryId) ? 'look' : isBehind ? 'behind' : 'elsewhere'
      return { result, entry: null, claims: [], cancelled: [] }
    }
    const own = planned.filter((item) => item.entry.id === entryId)
    return {
      result: 'finished',
      entry,
      claims: own.flatMap(({ claim }) => claim ?? []),
      cancelled: own.flatMap(({ cancelled }) => cancelled),
    }
  })
}

/** Entries that GitHub must decide. Only acts that start or end runs need that. */
function* unclearAmong(
  entries: readonly InboxEntry[],
  decided: readonly DecidedWebhook[],
): Verb<ReadonlySet<string>> {
  const asking = decided.filter(({ looked, acts }) => {
    return looked !== true && acts.some((act) => act.act !== 'note')
  })
  const ids = new Set(asking.map(({ entryId }) => entryId))
  const among = entries.filter(({ id }) => ids.has(id))
  if (among.length === 0) return new Set()
  const unclear = yield* unclearEntries(among.map(({ id }) => id))
  for (const entry of among) {
    for (const act of actsOf(decided, entry)) {
      const isInDoubt = act.act === 'cancel' && (yield* isClosingInDoubt(act, entry))
      if (isInDoubt) unclear.add(entry.id)
    }
  }
  return unclear
}

function actsOf(decided: readonly DecidedWebhook[], entry: InboxEntry): readonly WebhookAct[] {
  return decided.find(({ entryId }) => entryId === entry.id)?.acts ?? []
}

function* perform(context: VerbContext, planned: readonly PlannedAct[]): Verb<void> {
  const claims: PlannedAct[] = []
  for (const item of planned) {
    if (item.act.act === 'note') item.outcome = item.act.outcome
    else if (item.act.act === 'claim') {
      if (item.overtaken && item.act.whileOpen) item.outcome = ignored(item, 'closed-since')
      else claims.push(item)
    }
  }
  yield* claimAll(context, claims)
  for (const item of planned) {
    if (item.act.act === 'refuse') {
      const claim = { ...item.act.claim, causeId: item.causeId }
      const run = yield* refuseComment(context, claim, item.act.comment)
      item.outcome = { ...ignored(item, headNewerThanComment), runIds: [run.id] }
    }
    if (item.act.act !== 'cancel') continue
    if (item.overtaken) item.outcome = ignored(item, 'reopened-since')
    else {
      item.cancelled = yield* cancelClosed(context, item.act, item)
      item.outcome = cancelOutcome(item.act.type, item.cancelled)
    }
  }
}

/**
 * While we waited for the subject, another process may have stored and finished an event that
 * closed the pull request. It was not committed yet when we read the entries.
 */
function* checkStillOpen(planned: readonly PlannedAct[]): Verb<void> {
  const claimed = planned.filter(
    ({ act, claim }) => claim !== null && 'whileOpen' in act && act.whileOpen,
  )
  if (claimed.length === 0) return
  const overtaken = yield* overtakenEntries(claimed.map(({ entry }) => entry.id))
  if (overtaken.size > 0) throw new LostRace('a pull request was closed meanwhile')
}

/** Two claims of one subject cannot be decided in one batch; the second follows the first. */
function* claimAll(context: VerbContext, planned: readonly PlannedAct[]): Verb<void> {
  let left = planned
  while (left.length > 0) {
    const answers = yield* claimRuns(
      context,
      left.map(({ entry, act, causeId }) => {
        return { ...withoutGrantedRerun((act as ClaimAct).claim, entry), causeId }
      }),
    )
    left.forEach((item, i) => record(item, answers[i] ?? 'deferred'))
    left = left.filter(({ outcome }) => outcome === null)
  }
}

/** A replay does not grant a rerun a second time. */
function withoutGrantedRerun(claim: Claim, { outcomes }: InboxEntry): Claim {
  const isGranted = outcomes.some(({ type, result }) => type === claim.type && result === 'claimed')
  return isGranted ? { ...claim, rerun: false } : claim
}

function record(item: PlannedAct, answer: BatchAnswer<ClaimAnswer>): void {
  if (answer === 'deferred') return
  if (answer instanceof Error) {
    const code = 'code' in answer ? String(answer.code) : 'refused'
    item.outcome = { ...ignored(item, code.replaceAll('_', '-')), detail: answer.message }
    return
  }
  const { type, skipReason } = (item.act as ClaimAct).claim
  const runIds = answer.run === null ? [] : [answer.run.id]
  item.claim = answer
  item.outcome =
    skipReason === null
      ? { type, result: 'claimed', reason: answer.reason, runIds }
      : { type, result: 'skipped', reason: skipReason, runIds }
}

function ignored({ act }: PlannedAct, reason: string): TypeOutcome {
  return { type: typeOf(act), result: 'ignored', reason, runIds: [] }
}

function typeOf(act: WebhookAct): string {
  if (act.act === 'note') return act.outcome.type
  return act.act === 'cancel' ? act.type : act.claim.type
}

function cancelOutcome(type: string, cancelled: readonly Run[]): TypeOutcome {
  const runIds = cancelled.map(({ id }) => id)
  if (runIds.length === 0) return { type, result: 'ignored', reason: 'nothing-to-cancel', runIds }
  return { type, result: 'cancelled', reason: 'pull-request-closed', runIds }
}

function finishedEntry(
  context: VerbContext,
  entry: InboxEntry,
  planned: readonly PlannedAct[],
  decision: DecidedWebhook | undefined,
): InboxEntry {
  const outcomes = planned.flatMap((item) =>
    item.entry.id === entry.id ? (item.outcome ?? []) : [],
  )
  return {
    ...entry,
    ...decisionOf(outcomes),
    ...(outcomes.length === 0 && { reason: decision?.reason ?? null }),
    ...(decision?.givenUp === true && { state: 'failed', decision: 'accepted' }),
    outcomes,
    processedAt: context.now(),
    dueAt: null,
    lastError: null,
  }
}

function auditOf(entry: InboxEntry): AuditDraft {
  const { id, webhookId, state, decision, reason, outcomes } = entry
  const type =
    state === 'failed'
      ? 'webhook.failed'
      : decision === 'ignored'
        ? 'webhook.ignored'
        : 'webhook.processed'
  const results = outcomes.map((outcome) => ({
    type: outcome.type,
    result: outcome.result,
    reason: outcome.reason,
    run_ids: outcome.runIds,
  }))
  const data = { webhook_id: webhookId, ...(reason === null ? {} : { reason }), outcomes: results }
  return { type, actor: 'intake', runId: null, inboxId: id, data }
}
