/**
 * Decides and stores many claims at once, in a fixed number of statements.
 *
 * Order of locks: names, then subjects (sorted), then runs. The facts are read in statements after
 * the one that locks the subjects: in the same statement PostgreSQL would show the state from
 * before the lock. Every write is a compare-and-set.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Claim, ClaimRefusal, ClaimFacts, ClaimDecision } from '../../../domain/claim.ts'
import { decideClaim, takenAtOnce, type TakenAtOnce } from '../../../domain/claim.ts'
import type { LeaseGrant, Moment, Run } from '../../../domain/run.ts'
import { isActive, isExhausted } from '../../../domain/run.ts'
import type { Subject } from '../../../domain/subject.ts'
import { ConflictError } from '../../../errors.ts'
import type { ClaimAnswer, LeaseAnswer } from '../../../store.ts'
import type { BatchAnswer } from '../../sql-store/batcher.ts'
import type { Verb } from '../../sql.ts'
import { claimReasonAt, insertDecisions } from '../../tables/audit-table.ts'
import { insertEvents, seenEvents } from '../../tables/event-table.ts'
import { storeHeadCheck } from '../../tables/head-check-table.ts'
import type { RoundKey } from '../../tables/past-round-table.ts'
import { pastRounds, roundKey } from '../../tables/past-round-table.ts'
import {
  checkRepositories,
  repositoryIds,
  noteUse,
  resolveRepositories,
} from '../../tables/repository-table.ts'
import { selectForClaims, selectSupersededBy, writeRuns } from '../../tables/run-table.ts'
import type { SubjectName } from '../../tables/subject-table.ts'
import { lockSubjects, subjectKey, writeSubjects } from '../../tables/subject-table.ts'
import type { Change } from '../outbox/announce.ts'
import { announce } from '../outbox/announce.ts'
import type { VerbContext } from '../context.ts'
import { failExhausted } from './end-run.ts'
import { availableTypes } from './hold-run.ts'
import { firstCheckMs } from './take-head-check.ts'
import { endedForGrant, tokenRevoked } from '../tokens/tokens.ts'

export interface Placed {
  readonly claim: Claim
  readonly subject: Subject
}

interface Decided extends Placed {
  readonly decision: ClaimDecision
  readonly taken: TakenAtOnce | null
  /** The runs that it may change, as they were read. */
  readonly was: readonly Run[]
}

interface Stored {
  /** As the claim left it. */
  readonly run: Run | null
  /** As its executor has it, if one took it at once. */
  readonly takenRun: Run | null
  /** The audit row of the decision. */
  readonly decisionId: number
}

/** The subject that a claim locks; a batch has one claim for each. */
export function subjectOf({ type, repo, subjectName }: Claim): string {
  return `${type} ${repo ?? ''} ${subjectName}`
}

export function* claimRuns(
  context: VerbContext,
  claims: readonly Claim[],
): Verb<BatchAnswer<ClaimAnswer>[]> {
  const ended = yield* endedForGrant(
    context,
    claims.map(({ lease }) => lease),
  )
  if (ended.size > 0) {
    const isEnded = ({ lease }: Claim): boolean => ended.has(lease?.token?.id ?? '')
    return claims.map((claim) => (isEnded(claim) ? tokenRevoked() : 'deferred'))
  }
  const placed = yield* placeClaims(context, claims)
  const answers = yield* claimPlaced(context, placed)
  return claims.map((_, i) => answers.get(i) ?? 'deferred')
}

/** Decides and records claims whose subjects this transaction has locked. */
export function* claimPlaced(
  context: VerbContext,
  placed: ReadonlyMap<number, Placed>,
): Verb<Map<number, ClaimAnswer | ConflictError>> {
  const answers = new Map<number, ClaimAnswer | ConflictError>()
  const moment = context.moment()
  const facts = yield* readLiveFacts(context, placed, moment)
  const waiting = yield* typesThatWait([...placed.values()].map(({ claim }) => claim))
  const decided = new Map<number, Decided>()
  for (const [i, place] of placed) {
    const seen = facts.get(i)
    if (seen === undefined) continue
    const decision = decideClaim(place.claim, seen, moment, context.newId('run'))
    if ('refused' in decision) answers.set(i, refusal(place.claim, decision))
    else {
      const mayStart = !waiting.has(place.claim.type)
      const taken = mayStart ? takenAtOnce(place.claim, decision, moment.now) : null
      const was = seen.same === null ? seen.others : [seen.same, ...seen.others]
      decided.set(i, { ...place, decision, taken, was })
    }
  }
  const stored = yield* record(context, [...decided.values()], moment.now)
  for (const [position, [i, { claim, decision }]] of [...decided].entries()) {
    const given = answer(claim, decision, stored[position])
    answers.set(i, decision.repeatsFirstAnswer === true ? yield* firstAnswer(given) : given)
  }
  return answers
}

/** Of the claims that bring an executor. Runs that have waited longer come first. */
function* typesThatWait(claims: readonly Claim[]): Verb<ReadonlySet<string>> {
  const types = claims.flatMap(({ executor, type }) => (executor === undefined ? [] : [type]))
  return new Set(types.length === 0 ? [] : yield* availableTypes(types, null, null))
}

/** Repeats the answer of the claim that granted the run, because that answer was lost. */
function* firstAnswer(given: ClaimAnswer): Verb<ClaimAnswer> {
  const { run } = given
  if (run === null) return given
  const supersededKeys = yield* selectSupersededBy(run)
  return { ...given, reason: (yield* claimReasonAt(run.fence)) ?? given.reason, supersededKeys }
}

/**
 * Finds and locks the subject of each claim. Leaves out a claim that has the same subject or key as
 * an earlier one: neither would see what the other writes.
 */
export function* placeClaims(
  context: VerbContext,
  claims: readonly Claim[],
): Verb<Map<number, Placed>> {
  const now = context.now()
  const byNumber = yield* repositoryIds(claims.flatMap(({ repoId }) => repoId ?? []))
  const numbered = ({ repoId }: Claim): string | undefined =>
    repoId === null ? undefined : byNumber.get(repoId)
  const names = claims.flatMap((claim) => {
    return claim.repo === null || numbered(claim) !== undefined ? [] : [claim.repo]
  })
  const ids = yield* resolveRepositories(names, () => context.newId('rep'), now)
  const wanted = new Map<string, { index: number; name: SubjectName }>()
  const keys = new Set<string>()
  claims.forEach((claim, index) => {
    const scope = numbered(claim) ?? ids.get(claim.repo ?? '') ?? ''
    const name = { type: claim.type, scope, name: claim.subjectName }
    const key = `${claim.type} ${claim.key}`
    if (wanted.has(subjectKey(name)) || keys.has(key)) return
    wanted.set(subjectKey(name), { index, name })
    keys.add(key)
  })
  const entries = [...wanted.values()]
  const newIds = new Set<string>()
  const newSubjectId = (): string => {
    const id = context.newId('sub')
    newIds.add(id)
    return id
  }
  const subjects = yield* lockSubjects(
    entries.map(({ name }) => name),
    newSubjectId,
    now,
  )
  const made = new Set<string>()
  for (const { index, name } of entries) {
    const repo = claims[index]?.repo ?? null
    if (repo !== null && newIds.has(subjects.get(subjectKey(name))?.id ?? '')) made.add(repo)
  }
  const inUse = new Map([...ids].filter(([repo]) => made.has(repo)))
  yield* checkRepositories(inUse, context.dialect.keepUnchanged)
  const scopes = entries.flatMap(({ name }) => (name.scope === '' ? [] : [name.scope]))
  yield* noteUse([...new Set(scopes)].toSorted(), now)
  const placed = new Map<number, Placed>()
  for (const { index, name } of entries) {
    const claim = claims[index]
    const subject = subjects.get(subjectKey(name))
    if (claim !== undefined && subject !== undefined) placed.set(index, { claim, subject })
  }
  return placed
}

/** Reads the facts after runs without attempts left were failed. */
function* readLiveFacts(
  context: VerbContext,
  placed: ReadonlyMap<number, Placed>,
  moment: Moment,
): Verb<Map<number, ClaimFacts>> {
  const facts = yield* readFacts(placed)
  const exhausted = [...facts].flatMap(([i, { same }]) => {
    const place = placed.get(i)
    return same !== null && isExhausted(same, moment) && place ? [{ ...place, same }] : []
  })
  if (exhausted.length === 0) return facts
  for (const { same, subject, claim } of exhausted) {
    yield* failExhausted(context, { run: same, subject }, claim.actor)
  }
  return yield* readFacts(placed)
}

function* readFacts(placed: ReadonlyMap<number, Placed>): Verb<Map<number, ClaimFacts>> {
  const all = [...placed.values()]
  const found = yield* selectForClaims(
    all.map(({ claim, subject }) => ({
      ...claim,
      subjectId: subject.id,
      supersedes: claim.policy.onNewer === 'supersede',
    })),
  )
  const seen = yield* seenEvents(all.flatMap(eventOf))
  const past = yield* pastRounds(all.map(roundKeyOf))
  const facts = new Map<number, ClaimFacts>()
  for (const [index, place] of placed) {
    const { claim, subject } = place
    const mine = found.filter((run) => run.subjectId === subject.id)
    const same = mine.find((run) => run.pair === claim.pair) ?? null
    const elsewhere = found.find((run) => isSameKey(run, claim, subject))
    facts.set(index, {
      subject,
      same,
      others: mine.filter((run) => run.pair !== claim.pair && isActive(run)),
      // A key that this subject knows itself cannot belong to another subject.
      foreign: same === null && elsewhere !== undefined ? elsewhere : null,
      eventSeen: claim.webhookId !== null && seen.has(`${subject.id} ${claim.webhookId}`),
      pastRound: past.get(roundKey(roundKeyOf(place))) ?? 0,
    })
  }
  return facts
}

/**
 * A key may contain a repository's name, and a name can go to another repository: then the same
 * text is another key. The key of a job is free text and must not block a pull request; otherwise
 * anybody who may claim a job could stop the runs of any pull request.
 */
function isSameKey(run: Run, claim: Claim, subject: Subject): boolean {
  if (run.key !== claim.key || run.type !== claim.type) return false
  if (claim.pr !== null && run.pr === null) return false
  // When two names became one repository, the run that lost its pair kept its key.
  if (claim.pr !== null && run.subjectId === subject.id) return false
  return run.repo === null || run.repo !== claim.repo || run.scope === subject.scope
}

const roundKeyOf = ({ claim, subject }: Placed): RoundKey => ({
  subjectId: subject.id,
  pair: claim.pair,
})

function eventOf({ claim, subject }: Placed): { subjectId: string; webhookId: string }[] {
  if (claim.webhookId === null) return []
  return [{ subjectId: subject.id, webhookId: claim.webhookId }]
}

/** Stores all decisions; answers the run of each as stored, with its fence. */
function* record(context: VerbContext, decided: readonly Decided[], now: number): Verb<Stored[]> {
  const ids = yield* insertDecisions(
    decided.map((one) => ({
      drafts: [...one.decision.audits, ...(one.taken === null ? [] : [one.taken.audit])],
      causeId: causeOf(one),
    })),
    now,
  )
  // The first audit row of each decision has the decision's id.
  const decisionId = ids.map(([first = 0]) => first)
  const fenced = decided.map(({ decision }, i) => {
    const first = decisionId[i] ?? 0
    const { run, drawsFence } = decision
    if (run === null || !drawsFence) return run
    // A reclaim continues the round; everything else begins a new one.
    return decision.reason === 'reclaimed'
      ? { ...run, fence: first }
      : { ...run, fence: first, claimFence: first }
  })
  // Sorted, because requests about steps keep several runs unchanged, in this order.
  const superseded = decided
    .flatMap(({ decision }) => decision.superseded)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const present = fenced.map((run, i) => {
    const taken = decided[i]?.taken ?? null
    if (run === null || taken === null) return run
    return { ...taken.run, fence: ids[i]?.at(-1) ?? run.fence, claimFence: run.claimFence }
  })
  const changed = present.filter((run, i) => run !== null && decided[i]?.decision.changed === true)
  const was = decided.flatMap((one) => one.was)
  const written = yield* writeRuns([...superseded, ...(changed as Run[])], { was })
  const stored = new Map(written.map((run) => [run.id, run]))
  yield* writeSubjects(
    decided
      .filter(({ decision, subject }) => !isDeepStrictEqual(decision.subject, subject))
      .map(({ decision }) => decision.subject),
  )
  yield* insertEvents(decided.flatMap(eventOf), now)
  const after = present.map((run) => (run === null ? null : (stored.get(run.id) ?? run)))
  for (const [i, { claim, decision, subject }] of decided.entries()) {
    const runId = isStale(decision) ? subject.currentRunId : (after[i]?.id ?? null)
    if (!decision.unclear || claim.pr === null || runId === null) continue
    const question = { subjectId: subject.id, runId, fence: decisionId[i] ?? 0 }
    yield* storeHeadCheck(question, now + firstCheckMs, now)
  }
  yield* announce(context, changesOf(decided, after, stored, ids))
  return after.map((run, i) => {
    const isTaken = run !== null && decided[i]?.taken !== null
    return {
      run: isTaken ? (fenced[i] ?? run) : run,
      takenRun: isTaken ? run : null,
      decisionId: decisionId[i] ?? 0,
    }
  })
}

/** What led to the claim. For a reclaim without a cause: the audit row of the lost holder. */
function causeOf({ claim, decision }: Decided): number | null {
  if (claim.causeId != null) return claim.causeId
  return decision.reason === 'reclaimed' ? (decision.run?.fence ?? null) : null
}

const isStale = ({ reason }: ClaimDecision): boolean => reason === 'stale-event'

/** Superseded runs come before the run that replaces them. */
function changesOf(
  decided: readonly Decided[],
  after: readonly (Run | null)[],
  stored: ReadonlyMap<string, Run>,
  ids: readonly (readonly number[])[],
): Change[] {
  return decided.flatMap(({ decision, subject }, i) => {
    const repositoryId = subject.scope
    const gone = decision.superseded
      .map(({ id }) => stored.get(id))
      .filter((run) => run !== undefined)
    const run = decision.drawsFence ? (after[i] ?? null) : null
    const [causeId = null] = ids[i] ?? []
    const endOf = ({ id }: Run): number | null => {
      const at = decision.audits.findIndex(({ type, runId }) => {
        return type === 'run.superseded' && runId === id
      })
      return ids[i]?.[at] ?? causeId
    }
    const began = decision.reason !== 'reclaimed'
    return [
      ...gone.map((old) => ({ run: old, repositoryId, began: false, causeId: endOf(old) })),
      ...(run === null ? [] : [{ run, repositoryId, began, causeId }]),
    ]
  })
}

function answer(
  claim: Claim,
  decision: ClaimDecision,
  { run, takenRun, decisionId }: Stored = { run: null, takenRun: null, decisionId: 0 },
): ClaimAnswer {
  const leased = decision.process && claim.lease !== null && run !== null
  return {
    reason: decision.reason,
    process: decision.process,
    runKey: run?.key ?? claim.key,
    run,
    supersededKeys: decision.superseded.map(({ key }) => key),
    supersededRunIds: decision.superseded.map(({ id }) => id),
    lease: leased
      ? { secret: secretOf(claim.lease, run), expiresAt: run.leaseExpiresAt ?? 0 }
      : null,
    taken: takenRun === null ? null : takenBy(claim.executor, takenRun),
    // If the current head stays, GitHub need not be asked at once: the stored question is enough.
    unclear: decision.unclear && claim.pr !== null && !isStale(decision),
    decisionId,
  }
}

/** Its round has just begun, so it has no steps. */
function takenBy(executor: LeaseGrant | undefined, run: Run): LeaseAnswer {
  const secret = executor?.secret ?? ''
  return { run, lease: { secret, expiresAt: run.leaseExpiresAt ?? 0 }, steps: [] }
}

function secretOf({ secret, unanswered = [] }: LeaseGrant, { leaseHash }: Run): string {
  return unanswered.find(({ hash }) => hash === leaseHash)?.secret ?? secret
}

function refusal(claim: Claim, { refused, currentRunId }: ClaimRefusal): ConflictError {
  if (refused === 'key_conflict') {
    return new ConflictError('key_conflict', `the key ${claim.key} belongs to another subject`, {
      hint: `Run ${currentRunId} has it. Use another key, or claim with that run's subject.`,
    })
  }
  return new ConflictError('not_current', `${claim.key} is not its subject's current key`, {
    hint: `The current run is ${currentRunId}: rerun that one, or claim the head again.`,
  })
}
