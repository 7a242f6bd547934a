/**
 * What was decided about waiting webhooks is done and told in the commit that ends their wait: a
 * crash leaves an entry waiting and nothing done, or done and no longer waiting.
 *
 * Two processes may decide on one entry at the same time; whoever locks it does it. Order of locks:
 * entries, then subjects, then runs.
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

/** One act of one entry, and what came of it. */
interface PlannedAct {
  readonly entry: InboxEntry
  /** The audit row that led to deciding on it. */
  readonly causeId: number | null
  readonly act: WebhookAct
  /** A later event says the opposite of whether the pull request is open. */
  readonly overtaken: boolean
  /** GitHub was asked, or cannot be. */
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
  const deeds = ready.flatMap((entry) =>
    actsOf(decided, entry).map((act): PlannedAct => {
      const isOvertaken = overtaken?.has(entry.id) === true
      const looked = decided.find(({ entryId }) => entryId === entry.id)?.looked === true
      const known = { entry, causeId: causeOf(entry), act, overtaken: isOvertaken, looked }
      return { ...known, outcome: null, claim: null, cancelled: [] }
    }),
  )
  yield* perform(context, deeds)
  yield* checkStillOpen(deeds)
  const settled = new Map<string, InboxEntry>()
  for (const entry of ready) {
    const decision = decided.find(({ entryId }) => entryId === entry.id)
    settled.set(entry.id, settledEntry(context, entry, deeds, decision))
  }
  yield* writeEntries([...settled.values()])
  yield* insertDecisions(
    [...settled.values()].map((entry) => ({ drafts: [told(entry)], causeId: causeOf(entry) })),
    context.now(),
  )
  return decided.map(({ entryId }): FinishedWebhook => {
    const entry = settled.get(entryId)
    if (entry === undefined) {
      const isBehind = found.get(entryId)?.behind === true
      const result = unclear.has(entryId) ? 'look' : isBehind ? 'behind' : 'elsewhere'
      return { result, entry: null, claims: [], cancelled: [] }
    }
    const own = deeds.filter((deed) => deed.entry.id === entryId)
    return {
      result: 'settled',
      entry,
      claims: own.flatMap(({ claim }) => claim ?? []),
      cancelled: own.flatMap(({ cancelled }) => cancelled),
    }
  })
}

/** Only what starts or ends runs by whether the pull request is open has to be clear. */
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

function* perform(context: VerbContext, deeds: readonly PlannedAct[]): Verb<void> {
  const claims: PlannedAct[] = []
  for (const deed of deeds) {
    if (deed.act.act === 'note') deed.outcome = deed.act.outcome
    else if (deed.act.act === 'claim') {
      if (deed.overtaken && deed.act.whileOpen) deed.outcome = ignored(deed, 'closed-since')
      else claims.push(deed)
    }
  }
  yield* claimAll(context, claims)
  for (const deed of deeds) {
    if (deed.act.act === 'refuse') {
      const claim = { ...deed.act.claim, causeId: deed.causeId }
      const run = yield* refuseComment(context, claim, deed.act.comment)
      deed.outcome = { ...ignored(deed, headNewerThanComment), runIds: [run.id] }
    }
    if (deed.act.act !== 'cancel') continue
    if (deed.overtaken) deed.outcome = ignored(deed, 'reopened-since')
    else {
      deed.cancelled = yield* cancelClosed(context, deed.act, deed)
      deed.outcome = cancelOutcome(deed.act.type, deed.cancelled)
    }
  }
}

/**
 * An event that closed the pull request may have been stored and settled while we waited for its
 * subject, though it came before ours: it was not committed yet when we looked for it.
 */
function* checkStillOpen(deeds: readonly PlannedAct[]): Verb<void> {
  const claimed = deeds.filter(
    ({ act, claim }) => claim !== null && 'whileOpen' in act && act.whileOpen,
  )
  if (claimed.length === 0) return
  const overtaken = yield* overtakenEntries(claimed.map(({ entry }) => entry.id))
  if (overtaken.size > 0) throw new LostRace('a pull request was closed meanwhile')
}

/** Two claims of one subject cannot be decided at once; the second comes after the first. */
function* claimAll(context: VerbContext, deeds: readonly PlannedAct[]): Verb<void> {
  let left = deeds
  while (left.length > 0) {
    const answers = yield* claimRuns(
      context,
      left.map(({ entry, act, causeId }) => {
        return { ...recognised((act as ClaimAct).claim, entry), causeId }
      }),
    )
    left.forEach((deed, i) => record(deed, answers[i] ?? 'deferred'))
    left = left.filter(({ outcome }) => outcome === null)
  }
}

/** A wish to do it again that was granted once is not granted again by a replay. */
function recognised(claim: Claim, { outcomes }: InboxEntry): Claim {
  const isGranted = outcomes.some(({ type, result }) => type === claim.type && result === 'claimed')
  return isGranted ? { ...claim, rerun: false } : claim
}

function record(deed: PlannedAct, answer: BatchAnswer<ClaimAnswer>): void {
  if (answer === 'deferred') return
  if (answer instanceof Error) {
    const code = 'code' in answer ? String(answer.code) : 'refused'
    deed.outcome = { ...ignored(deed, code.replaceAll('_', '-')), detail: answer.message }
    return
  }
  const { type, skipReason } = (deed.act as ClaimAct).claim
  const runIds = answer.run === null ? [] : [answer.run.id]
  deed.claim = answer
  deed.outcome =
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

function settledEntry(
  context: VerbContext,
  entry: InboxEntry,
  deeds: readonly PlannedAct[],
  decision: DecidedWebhook | undefined,
): InboxEntry {
  const outcomes = deeds.flatMap((deed) => (deed.entry.id === entry.id ? (deed.outcome ?? []) : []))
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

function told(entry: InboxEntry): AuditDraft {
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
