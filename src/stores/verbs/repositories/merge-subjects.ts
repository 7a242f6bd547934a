/**
 * Merges two rows that are one repository: claims by its new name arrived before we knew of the
 * rename. Their subjects are merged, so that nothing done under one name is done again under the
 * other, and each pull request has one head.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { Run } from '../../../domain/run.ts'
import { isActive, isAhead, makePending, makeQueued, supersede } from '../../../domain/run.ts'
import type { Subject } from '../../../domain/subject.ts'
import { lastEndOf } from '../../../domain/subject.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { insertAudit, insertAudits } from '../../tables/audit-table.ts'
import { storeHeadCheck, takeHeadChecks } from '../../tables/head-check-table.ts'
import type { Repository } from '../../tables/repository-table.ts'
import { noteMerged } from '../../tables/repository-table.ts'
import type { PastRound } from '../../tables/past-round-table.ts'
import { keepRounds, reassignRounds } from '../../tables/past-round-table.ts'
import { selectRun, selectRuns, writeRuns } from '../../tables/run-table.ts'
import { lockSubject, setScope, writeSubjects } from '../../tables/subject-table.ts'
import { announce } from '../outbox/announce.ts'
import { repeatHiddenAt } from '../outbox/repeat-hidden.ts'
import type { VerbContext } from '../context.ts'
import { mergeCopies, reassignDeliveries, type Copy } from './reassign-deliveries.ts'
import { firstCheckMs } from '../runs/take-head-check.ts'
import { moveTokenLimits } from '../tokens/tokens.ts'

export function* mergeSubjects(
  context: VerbContext,
  from: Repository,
  into: Repository,
  actor: string,
  renamedId: number | null,
): Verb<void> {
  const about = { from: from.id, into: into.id, name: into.name }
  const audit = { type: 'repository.merged', actor, runId: null, data: about } as const
  const mergedId = yield* insertAudit(audit, renamedId, context.now())
  const strays = yield sql`SELECT stray.id, kept.id AS kept_id FROM subject AS stray
    LEFT JOIN subject AS kept
      ON kept.scope = ${into.id} AND kept.name = stray.name AND kept.type = stray.type
    WHERE stray.scope = ${from.id} ORDER BY stray.id`
  const keptIds = new Map<string, string>()
  const copies: Copy[] = []
  const since = context.now()
  for (const row of strays) {
    const stray = yield* lockSubject(row['id'] as string, context.now())
    const keptId = row['kept_id'] as string | null
    if (keptId === null) yield* moveSubject(stray, into)
    else {
      const kept = yield* lockSubject(keptId, context.now())
      copies.push(...(yield* mergeSubject(context, stray, kept, mergedId)))
      keptIds.set(stray.id, keptId)
    }
  }
  yield* reassignDeliveries(context, { fromId: from.id, intoId: into.id, keptIds, mergedId })
  yield* mergeCopies(context, copies, mergedId)
  yield* moveTokenLimits(from.id, into.id)
  yield* announceMoved(context, into.id, [...keptIds.values()], { since, mergedId })
  yield* showWinners(context, copies, mergedId)
  yield* noteMerged(from.id, into.id)
}

/** Moves its runs too. Heartbeats write runs without the subject's lock, so `rev` is raised. */
function* moveSubject(stray: Subject, into: Repository): Verb<void> {
  yield* setScope(stray.id, into.id)
  yield sql`UPDATE run SET scope = ${into.id}, rev = rev + 1
    WHERE subject_id = ${stray.id}`
}

/** Announces runs that ended or started because of the merge. */
function* announceMoved(
  context: VerbContext,
  repositoryId: string,
  subjectIds: readonly string[],
  { since, mergedId }: { readonly since: number; readonly mergedId: number },
): Verb<void> {
  for (const subjectId of subjectIds) {
    const runs = yield* selectRuns(sql`subject_id = ${subjectId} ORDER BY claim_fence`)
    const changes = runs.map((run) => {
      // Runs that ended before the merge did not change, and there may be very many.
      const isSame = run.finishedAt !== null && run.finishedAt < since
      return { run, repositoryId, began: isAhead(run), isSame, causeId: mergedId }
    })
    yield* announce(context, changes)
  }
}

/**
 * The check run of a copy may be the newest on its commit. Then the winner's result is repeated.
 */
function* showWinners(context: VerbContext, copies: readonly Copy[], mergedId: number): Verb<void> {
  for (const { winnerId } of copies) {
    const winner = yield* selectRun(winnerId)
    if (winner === null) continue
    const { scope: repositoryId, headSha: sha, checkName } = winner
    yield* repeatHiddenAt(context, { repositoryId, sha, checkName }, mergedId)
  }
}

/** Moves all runs of both to the kept subject, and removes the stray one. */
function* mergeSubject(
  context: VerbContext,
  stray: Subject,
  kept: Subject,
  mergedId: number,
): Verb<Copy[]> {
  const now = context.now()
  const runs = yield* selectRuns(sql`subject_id IN (${stray.id}, ${kept.id}) ORDER BY fence`)
  const newer = isNewer(stray, kept, runs) ? stray : kept
  const reruns = yield* activeReruns(runs)
  const winners = winnerOfEachPair(runs, reruns)
  const copies = runs.filter((run) => winners.get(run.pair) !== run)
  const wanted = wantedAgain(copies, winners, reruns)
  const head = winners.get(newer.currentPair ?? '')
  const audits: AuditDraft[] = []
  const decided = runs.map((run) => {
    const isCopy = winners.get(run.pair) !== run
    const moved = {
      ...run,
      subjectId: kept.id,
      scope: kept.scope,
      pair: isCopy ? copyOf(run) : run.pair,
      rerunWanted: run.rerunWanted || wanted.has(run),
    }
    const staysCurrent = run === head || (!isCopy && run.onNewer !== 'supersede')
    if (wanted.has(run) && staysCurrent) {
      audits.push(auditOf('operator.rerun_requested', run, { round: run.round }))
    }
    if (!isActive(run) || run === head) return moved
    if (!isCopy && run.onNewer !== 'supersede') return moved
    const by = (isCopy ? winners.get(run.pair) : head)?.key ?? run.key
    audits.push(auditOf('run.superseded', run, { by }))
    return supersede(moved, by, now)
  })
  audits.push(...endedBefore(copies, decided, winners))
  const first = firstInLine(decided, runs, kept)
  const queued = decided.map((run) => {
    if (run === first && !isAhead(run)) audits.push(auditOf('run.dequeued', run, { key: run.key }))
    if (run === first) return isAhead(run) ? run : makePending(run, now)
    if (!isAhead(run)) return run
    // Only one run may be ahead. The other one queues, and its worker loses the lease.
    audits.push(auditOf('run.heartbeat_lost', run, { worker: run.worker }))
    return makeQueued(run)
  })
  const ids = yield* insertAudits(audits, mergedId, now)
  const fences = newestFences(audits, ids, decided, runs, winners)
  const shown = queued.map((run) => ({ ...run, claimFence: fences.get(run.id) ?? run.claimFence }))
  yield* writeRuns(shown.toSorted((x, y) => writtenAs(x, winners) - writtenAs(y, winners)))
  const merged = withHeadOf(kept, newer, head)
  yield* writeSubjects([merged])
  yield sql`INSERT INTO subject_event (subject_id, webhook_id, at)
    SELECT ${kept.id}, webhook_id, at FROM subject_event WHERE subject_id = ${stray.id}
    ON CONFLICT (subject_id, webhook_id) DO NOTHING`
  yield sql`DELETE FROM subject_event WHERE subject_id = ${stray.id}`
  yield* reassignRounds(stray.id, kept.id)
  // The winner's next rounds must not reuse the numbers of a copy's rounds.
  yield* keepRounds(lastRounds(copies, kept), now)
  yield* moveHeadCheck(stray, merged, now)
  yield sql`DELETE FROM subject WHERE id = ${stray.id}`
  return copies.map((copy) => {
    return { copyId: copy.id, winnerId: winners.get(copy.pair)?.id ?? copy.id }
  })
}

function lastRounds(copies: readonly Run[], kept: Subject): readonly PastRound[] {
  const rounds = new Map<string, number>()
  for (const { pair, round } of copies) rounds.set(pair, Math.max(round, rounds.get(pair) ?? 0))
  return [...rounds].map(([pair, round]) => ({ subjectId: kept.id, pair, round }))
}

/** A pending head check of either subject becomes one for the common head. */
function* moveHeadCheck(stray: Subject, { id, currentRunId }: Subject, now: number): Verb<void> {
  const fence = yield* takeHeadChecks([stray.id, id])
  if (fence === null || currentRunId === null) return
  const question = { subjectId: id, runId: currentRunId, fence }
  yield* storeHeadCheck(question, now + firstCheckMs, now)
}

/** A later claim of an active run had already ended: it is audited as a duplicate. */
function endedBefore(
  copies: readonly Run[],
  decided: readonly Run[],
  winners: ReadonlyMap<string, Run>,
): AuditDraft[] {
  return copies.flatMap((copy) => {
    const winner = goesOn(winners.get(copy.pair), decided)
    const isLater = winner !== undefined && winner.claimFence < copy.claimFence
    if (isActive(copy) || !isLater) return []
    return [auditOf('run.claim_skipped', winner, { reason: 'duplicate', key: copy.key })]
  })
}

/**
 * A run that replaces a later claim of its pair also takes its place in what is shown: it gets the
 * fence of the audit row that ends the later claim or calls it a duplicate.
 */
function newestFences(
  audits: readonly AuditDraft[],
  ids: readonly number[],
  decided: readonly Run[],
  runs: readonly Run[],
  winners: ReadonlyMap<string, Run>,
): ReadonlyMap<string, number> {
  const fences = new Map<string, number>()
  for (const [at, { type, runId }] of audits.entries()) {
    if (type !== 'run.superseded' && type !== 'run.claim_skipped') continue
    const about = runs.find(({ id }) => id === runId)
    const winner = goesOn(winners.get(about?.pair ?? ''), decided)
    if (about === undefined || winner === undefined) continue
    const isLater = type === 'run.claim_skipped' || winner.claimFence < about.claimFence
    if (isLater) fences.set(winner.id, ids[at] ?? 0)
  }
  return fences
}

function goesOn(winner: Run | undefined, decided: readonly Run[]): Run | undefined {
  return decided.find((run) => run.id === winner?.id && isActive(run))
}

/** The active run that goes on: the kept subject's, else the stray's, else the oldest. */
function firstInLine(
  decided: readonly Run[],
  before: readonly Run[],
  kept: Subject,
): Run | undefined {
  const own = new Set(before.filter((run) => run.subjectId === kept.id).map(({ id }) => id))
  const ahead = decided.filter(isAhead)
  return ahead.find(({ id }) => own.has(id)) ?? ahead[0] ?? decided.find(isActive)
}

/** A run that gives up a pair or its place is written before the run that takes it. */
function writtenAs(run: Run, winners: ReadonlyMap<string, Run>): number {
  if (winners.get(run.pair)?.id !== run.id) return 0
  if (!isActive(run)) return 1
  return isAhead(run) ? 3 : 2
}

/**
 * A pair that both subjects have counts once: a result wins over running work, which wins over a
 * pending run. Of two active runs the first goes on, as if the second had been a duplicate. A rerun
 * that somebody asked for after a result wins over that result.
 */
function winnerOfEachPair(
  runs: readonly Run[],
  reruns: ReadonlySet<string>,
): ReadonlyMap<string, Run> {
  const winners = new Map<string, Run>()
  for (const run of runs.toSorted((a, b) => a.claimFence - b.claimFence)) {
    const other = winners.get(run.pair)
    if (other === undefined || takesOver(run, other, reruns)) winners.set(run.pair, run)
  }
  return winners
}

/** `later` was claimed after `other`. */
function takesOver(later: Run, other: Run, reruns: ReadonlySet<string>): boolean {
  const wants = (run: Run): boolean => isActive(run) && run.rerunWanted
  if (other.state === 'succeeded' && (wants(later) || reruns.has(later.id))) return true
  if (later.state === 'succeeded' && wants(other)) return false
  const more = rankOf(later) - rankOf(other)
  return more > 0 || (more === 0 && !isActive(later))
}

function rankOf(run: Run): number {
  if (run.state === 'succeeded') return 3
  if (!isActive(run)) return 0
  return run.state === 'pending' ? 1 : 2
}

/** Active winners that inherit the rerun request of a copy. */
function wantedAgain(
  copies: readonly Run[],
  winners: ReadonlyMap<string, Run>,
  reruns: ReadonlySet<string>,
): ReadonlySet<Run> {
  const wanted = copies.flatMap((copy) => {
    const winner = winners.get(copy.pair)
    if (winner === undefined || !isActive(copy) || !isActive(winner)) return []
    const isAfter = reruns.has(copy.id) && copy.claimFence > winner.claimFence
    return (copy.rerunWanted || isAfter) && !winner.rerunWanted ? [winner] : []
  })
  return new Set(wanted)
}

/**
 * Ids of the active runs that somebody asked to run again: the audit row of their claim says so.
 */
function* activeReruns(runs: readonly Run[]): Verb<ReadonlySet<string>> {
  const active = runs.filter(isActive)
  if (active.length === 0) return new Set()
  const fences = active.map(({ claimFence }) => claimFence)
  const rows = yield sql`SELECT run_id, data FROM audit WHERE id IN (${join(padded(fences))})`
  return new Set(rows.flatMap((row) => (isRerun(row['data']) ? [row['run_id'] as string] : [])))
}

/** A first claim under a new name is `new`, whoever asked for it. */
function isRerun(data: unknown): boolean {
  const { reason, rerun } = JSON.parse(data as string) as { reason?: unknown; rerun?: unknown }
  return rerun === true || reason === 'rerun'
}

/** A copy is kept for its history, under a pair that no claim uses. */
const copyOf = (run: Run): string => `${run.pair} (copy ${run.id})`

function auditOf(
  type:
    | 'run.superseded'
    | 'run.heartbeat_lost'
    | 'run.dequeued'
    | 'run.claim_skipped'
    | 'operator.rerun_requested',
  run: Run,
  data: AuditDraft['data'],
): AuditDraft {
  const why = 'two names turned out to be one repository'
  return { type, actor: 'system', runId: run.id, data: { ...data, why } }
}

/** By verified order if both have one, else by the last claim. */
function isNewer(stray: Subject, kept: Subject, runs: readonly Run[]): boolean {
  if (stray.headAt !== null && kept.headAt !== null) return stray.headAt >= kept.headAt
  // A lease raises the fence but is not a claim, so claim fences are compared.
  const [last] = runs.toSorted((a, b) => b.claimFence - a.claimFence)
  return last?.subjectId === stray.id
}

function withHeadOf(kept: Subject, newer: Subject, head: Run | undefined): Subject {
  return {
    ...kept,
    currentRunId: head?.id ?? newer.currentRunId,
    currentPair: newer.currentPair,
    currentEnded: head === undefined ? newer.currentEnded : lastEndOf(head),
    headSha: newer.headSha,
    headBefore: newer.headBefore,
    headAt: newer.headAt,
    floorAt: newer.floorAt === null ? kept.floorAt : Math.max(newer.floorAt, kept.floorAt ?? 0),
    finishedRunId: newer.finishedRunId ?? kept.finishedRunId,
    finishedHeadSha: newer.finishedHeadSha ?? kept.finishedHeadSha,
    finishedVerdict: newer.finishedVerdict ?? kept.finishedVerdict,
  }
}
