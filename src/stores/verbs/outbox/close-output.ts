/**
 * Closes what runs published themselves and left as "in progress", when the runs end. A status of a
 * run that ended without a result is given back to the run that showed something there before.
 */
import type { WantedOutput } from '../../../domain/outbox/announce.ts'
import type { Content } from '../../../domain/outbox/channel-declaration.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import {
  hasOrExpectsResult,
  nextToShow,
  outputToShowAgain,
} from '../../../domain/outbox/give-back.ts'
import type { Revision } from '../../../domain/outbox/revise.ts'
import { giveBack, revise, targetTakenAudit } from '../../../domain/outbox/revise.ts'
import type { Run } from '../../../domain/run.ts'
import { isActive } from '../../../domain/run.ts'
import type { Sql, Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { lastEndOf } from '../../tables/audit-table.ts'
import { selectDeliveries } from '../../tables/delivery-table.ts'
import { selectRun, selectRunsUnchanged } from '../../tables/run-table.ts'
import {
  firstUnclosed,
  forgetUnclosed,
  selectUnclosed,
  storeUnclosed,
} from '../../tables/unclosed-run-table.ts'
import type { VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { storeRevision } from './store-deliveries.ts'

interface EndedRun {
  readonly run: Run
  /** The audit row of its end. */
  readonly causeId: number | null
}

/** How many deliveries one transaction closes. A run may publish thousands. */
const batchMax = 200

/**
 * Called when runs have ended. What is too much for this transaction is noted in the table
 * `unclosed_run`, and `closeRemaining` continues from there.
 */
export function* closeOwnOutput(context: VerbContext, runs: readonly EndedRun[]): Verb<void> {
  for (const mayGiveBack of [false, true]) {
    const ended = new Map(
      runs
        .filter(({ run }) => !hasOrExpectsResult(run) === mayGiveBack)
        .map((one) => [one.run.id, one]),
    )
    if (ended.size === 0) continue
    const these = sql`run_id IN (${join(padded([...ended.keys()]))})`
    const { last, next } = yield* closeBatch(context, ended, these, mayGiveBack)
    if (next === null) continue
    // Deliveries are closed in the order of run ids, so all runs before this one are done.
    const left = [...ended.keys()].filter((runId) => runId >= (next.runId ?? ''))
    const closedTo = (runId: string): string => (runId === last?.runId ? last.id : '')
    yield* storeUnclosed(left.map((runId) => ({ runId, closedTo: closedTo(runId) })))
  }
}

/**
 * Continues with a run that has more than one transaction can close. Returns false if none is left.
 */
export function* closeRemaining(context: VerbContext): Verb<boolean> {
  const runId = yield* firstUnclosed()
  if (runId === null) return false
  const known = yield* selectRun(runId)
  const run = known && (yield* lockRun(context, runId)).run
  // Read under the lock, because another process may have continued with it meanwhile.
  const unclosed = yield* selectUnclosed(runId)
  if (unclosed === null) return true
  // The run was purged, or it is active again. In the second case its next end closes what is left.
  if (run === null || isActive(run)) {
    yield* forgetUnclosed(runId)
    return true
  }
  const remaining = sql`run_id = ${runId} AND id > ${unclosed.closedTo}`
  const ended = new Map([[runId, { run, causeId: yield* lastEndOf(runId) }]])
  const { last, next } = yield* closeBatch(context, ended, remaining, !hasOrExpectsResult(run))
  if (next === null || last === null) yield* forgetUnclosed(runId)
  else yield* storeUnclosed([{ runId, closedTo: last.id }])
  return true
}

interface Batch {
  /** The last delivery that was handled. */
  readonly last: Delivery | null
  /** The first delivery that is left. */
  readonly next: Delivery | null
}

function* closeBatch(
  context: VerbContext,
  ended: ReadonlyMap<string, EndedRun>,
  which: Sql,
  mayGiveBack: boolean,
): Verb<Batch> {
  const mustChange = mayGiveBack
    ? sql`(${join([sql`announces = 1`, ...mayBeGivenBack(context)], ' OR ')})`
    : sql`announces = 1`
  const found = yield* selectDeliveries(
    sql`${which} AND ${mustChange} ORDER BY run_id, id LIMIT ${batchMax + 1}`,
  )
  const batch = found.slice(0, batchMax)
  const now = context.now()
  for (const existing of batch) {
    const one = ended.get(existing.runId ?? '')
    if (one === undefined) continue
    const back = yield* giveBackToOther(context, existing, one)
    const next = back ?? (existing.announces ? closeLeftOpen(context, existing, one, now) : null)
    if (next !== null) yield* storeRevision(context, next, one.causeId)
  }
  return { last: batch.at(-1) ?? null, next: found[batchMax] ?? null }
}

/** Outputs of a run's own whose target may have to be given back to another run. */
function mayBeGivenBack({ channels }: VerbContext): Sql[] {
  return channels.all
    .filter(({ givesBack }) => givesBack)
    .map(({ name, announcement }) =>
      announcement === undefined
        ? sql`channel = ${name}`
        : sql`(channel = ${name} AND name <> ${announcement.name})`,
    )
}

/**
 * The run that gets the target back might end at the same time. Its row is kept unchanged until the
 * commit, so its end waits for this transaction and then finds the delivery by its run id.
 */
function* giveBackToOther(
  context: VerbContext,
  existing: Delivery,
  { run, causeId }: EndedRun,
): Verb<Revision | null> {
  const { saidThere: outputs = [] } = existing.protocol
  const others = outputs.map(({ runId }) => runId).filter((runId) => runId !== null)
  const { repositoryId } = existing
  if (hasOrExpectsResult(run) || others.length === 0 || repositoryId === null) return null
  const runs = yield* selectRunsUnchanged(others, context.dialect.keepUnchanged)
  const next = nextToShow(existing, runs)
  if (next === null) return null
  const now = context.now()
  const { markerKey } = next.kept
  const channel = context.channels.of(existing.channel)
  const output = {
    wanted: outputToShowAgain(channel, existing, next, now),
    run: next.run,
    repositoryId,
    markerKey,
    causeId,
  }
  const shown = giveBack(existing, output, now, context.publishing)
  const delivery = { ...shown, protocol: { ...shown.protocol, saidThere: next.later } }
  return { delivery, audits: [targetTakenAudit(existing, run, next.run.id)] }
}

function closeLeftOpen(
  context: VerbContext,
  existing: Delivery,
  { run, causeId }: EndedRun,
  now: number,
): Revision | null {
  const channel = context.channels.of(existing.channel)
  const { repositoryId, markerKey, versionFence } = existing
  // This process does not know the channel. The reconciler of one that does will close it.
  if (channel.closed === undefined || repositoryId === null) return null
  const wanted: WantedOutput = {
    ...existing,
    channel,
    markerText: '',
    content: channel.closed(JSON.parse(existing.content) as Content, run, now),
    final: true,
    announces: false,
    claim: 'keep',
    closesOnly: run.state === 'superseded' || run.state === 'cancelled',
  }
  const shown = { ...run, claimFence: versionFence }
  const output = { wanted, run: shown, repositoryId, markerKey, causeId }
  return revise(existing, output, () => existing.id, now, context.publishing)
}
