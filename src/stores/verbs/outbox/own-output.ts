/**
 * What a run publishes itself: once per name and round. A message with other content under the same
 * name is refused; a state may be said anew. What shows work under way is closed with the run.
 */
import { isDeepStrictEqual } from 'node:util'
import { closedContent } from '../../../domain/outbox/left-open.ts'
import type { Desire } from '../../../domain/outbox/announce.ts'
import { statusTarget } from '../../../domain/outbox/announce.ts'
import type { ChannelName, Delivery } from '../../../domain/outbox/delivery.ts'
import { publishRefusal, type PublishRights } from '../../../domain/outbox/publish-rights.ts'
import type { Revision, Wish } from '../../../domain/outbox/revise.ts'
import { giveBack, isTaken, revise, targetTaken } from '../../../domain/outbox/revise.ts'
import {
  desireAgain,
  hasResult,
  isOwnStatus,
  nextShown,
  saidBy,
  withSaid,
} from '../../../domain/outbox/said-there.ts'
import type { Run } from '../../../domain/run.ts'
import { isActive } from '../../../domain/run.ts'
import { ConflictError, ForbiddenError, InvalidInputError } from '../../../errors.ts'
import { ownMarkerKey } from '../../../marker-keys.ts'
import type { PublishAnswer, PublishRequest } from '../../../store/outbox-store.ts'
import type { Sql, Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { insertAudits, lastEndOf } from '../../tables/audit-table.ts'
import { deliveriesAt, selectDeliveries, selectNamed } from '../../tables/delivery-table.ts'
import { selectContextsAt, selectRun, selectRunsUnchanged } from '../../tables/run-table.ts'
import {
  firstUnclosed,
  forgetUnclosed,
  selectUnclosed,
  storeUnclosed,
} from '../../tables/unclosed-run-table.ts'
import type { VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { checkHolder } from '../runs/hold-run.ts'
import { enterLine, storeDeliveries } from './store-deliveries.ts'

/** `isTaken`: it is kept, but a newer run is shown there, and the caller has to hear of it. */
export interface PublishedOwn extends PublishAnswer {
  readonly isTaken: boolean
}

export function* publishOwn(context: VerbContext, request: PublishRequest): Verb<PublishedOwn> {
  const { run, subject } = yield* lockRun(context, request.runId)
  if (request.leaseHash !== null) checkHolder(run, request.leaseHash, context.now())
  const rights = yield* rightsAt(request.rightsOf(run.type), run, subject.scope)
  const refusal = publishRefusal(request, run, rights)
  if (refusal !== null) throw new ForbiddenError(refusal.code, refusal.message, refusal)
  const desire = desireOf(request, run, subject.scope)
  const named = yield* selectNamed(run.id, request.name, run.round)
  if (named !== null) refuseOther(named, desire, request)
  const standing = named ?? (yield* deliveriesAt([desire.target])).get(desire.target) ?? null
  const wish = {
    desire,
    run,
    repositoryId: subject.scope,
    markerKey: ownMarkerKey(run, desire.markerText),
    causeId: run.fence,
  }
  if (standing !== null && isTaken(standing, run)) return yield* sayAtTaken(context, standing, wish)
  const next = revise(standing, wish, () => context.newId('del'), context.now(), context.publishing)
  if (next === null) {
    if (standing === null) throw new ConflictError('not_published', 'there is nothing to publish')
    return { delivery: standing, already: true, isTaken: false }
  }
  // The subject's lock orders what a run publishes.
  const delivery = yield* enterLine(context, next.delivery)
  const stored = yield* store(context, { ...next, delivery }, run.fence)
  return { delivery: stored, already: false, isTaken: false }
}

/** Another program on this store may have types that this one's configuration does not name. */
function* rightsAt(
  rights: PublishRights,
  { headSha }: Run,
  repositoryId: string,
): Verb<PublishRights> {
  const shown = headSha === null ? [] : yield* selectContextsAt(repositoryId, headSha)
  return { ...rights, reserved: [...rights.reserved, ...shown] }
}

/**
 * A newer run has the place. A status is kept for when that one ends without a result; where it
 * has already, this one is shown at once.
 */
function* sayAtTaken(context: VerbContext, standing: Delivery, wish: Wish): Verb<PublishedOwn> {
  if (!isOwnStatus(standing)) throw targetTakenError(standing)
  const { keepUnchanged } = context.dialect
  const [owner] = yield* selectRunsUnchanged([standing.runId], keepUnchanged)
  if (owner !== undefined && !hasResult(owner)) {
    const delivery = giveBack(standing, wish, context.now(), context.publishing)
    const audits = [targetTaken(standing, owner, wish.run.id)]
    const stored = yield* store(context, { delivery, audits }, wish.causeId)
    return { delivery: stored, already: false, isTaken: false }
  }
  const said = saidBy(wish.run, wish)
  const before = standing.memo.saidThere?.find(({ runId }) => runId === said.runId)
  if (isDeepStrictEqual(before, said)) return { delivery: standing, already: true, isTaken: true }
  const delivery = { ...standing, memo: withSaid(standing.memo, said) }
  const audits = [targetTaken(standing, wish.run, standing.runId)]
  const stored = yield* store(context, { delivery, audits }, wish.causeId)
  return { delivery: stored, already: false, isTaken: true }
}

function* store(
  context: VerbContext,
  { delivery, audits }: Revision,
  causeId: number | null,
): Verb<Delivery> {
  const [stored] = yield* storeDeliveries(context, [delivery])
  yield* insertAudits(audits, causeId, context.now())
  return stored ?? delivery
}

const stateChannels: readonly ChannelName[] = ['github-status', 'github-check', 'github-label']

function desireOf(request: PublishRequest, run: Run, repositoryId: string): Desire {
  const { channel, name, content } = request
  const kind = stateChannels.includes(channel) ? 'state' : 'message'
  const { thread, sha } = placeOf(request, run)
  return {
    channel,
    kind,
    name,
    target: targetOf(request, run, repositoryId, thread),
    markerText: ownMarkerText(request, run),
    thread,
    sha,
    content,
    final: !showsWork(channel, content),
    announces: showsWork(channel, content),
    claim: 'take',
    closesOnly: false,
  }
}

/** Check runs of several pull requests stand in one list; what is on a thread is only its own. */
function ownMarkerText({ channel, name }: PublishRequest, run: Run): string {
  const subject = channel === 'github-check' ? `${run.subject}\n` : ''
  return `${run.type}\n${subject}${run.pair}\n${channel} ${name} ${run.round}`
}

function placeOf({ channel }: PublishRequest, run: Run): Pick<Desire, 'thread' | 'sha'> {
  if (run.repo === null) throw noPlace('a repository')
  const needsSha = channel === 'github-status' || channel === 'github-check'
  if (needsSha && run.headSha === null) throw noPlace('a commit')
  if (!needsSha && run.pr === null) throw noPlace('a pull request')
  return { thread: run.pr, sha: needsSha ? run.headSha : null }
}

function noPlace(what: string): InvalidInputError {
  return new InvalidInputError('no_place', 'channel', `this run is not about ${what}`, {
    hint: 'Publish on a channel that fits the run, or claim it with what the channel needs.',
  })
}

function targetOf(
  { channel, name, content }: PublishRequest,
  run: Run,
  repositoryId: string,
  thread: number | null,
): string {
  switch (channel) {
    case 'github-status':
      return statusTarget(repositoryId, run.headSha ?? '', String(content['context']))
    case 'github-check':
      return `check ${run.id} ${run.round} ${name}`
    case 'github-label':
      return `label ${repositoryId} ${thread ?? 0} ${String(content['label']).toLowerCase()}`
    default:
      return `message ${run.id} ${run.round} ${name}`
  }
}

/** Left like this it would say for ever that something is under way. */
function showsWork(channel: ChannelName, content: PublishRequest['content']): boolean {
  if (channel === 'github-status') return content['state'] === 'pending'
  return channel === 'github-check' && content['status'] !== 'completed'
}

function refuseOther(named: Delivery, desire: Desire, request: PublishRequest): void {
  const sameTarget = named.channel === desire.channel && named.target === desire.target
  const isMessage = desire.kind === 'message'
  if (sameTarget && (!isMessage || named.content === JSON.stringify(request.content))) return
  throw new ConflictError(
    'content_differs',
    `${request.name} was already published in this round with other content`,
    { hint: 'Publish something else under another name; the same thing is published once.' },
  )
}

export function targetTakenError(standing: Delivery): ConflictError {
  const { target } = standing
  return new ConflictError('target_taken', `a newer run publishes there now: ${target}`, {
    hint: isOwnStatus(standing)
      ? 'It is kept, and shown if that run is cancelled, superseded or skipped.'
      : 'Stop: nothing of this run is shown there any more.',
  })
}

interface EndedRun {
  readonly run: Run
  /** The audit row of its end. */
  readonly causeId: number | null
}

/** How many one transaction closes: a run may publish thousands. */
const biteMax = 200

/**
 * These runs have ended: whatever they left "under way" ends as they did. A status of one that
 * ended without a result is given back to whoever said something there before. What is too much
 * for this transaction is noted in it, and `closeRest` goes on from there.
 */
export function* closeOwnOutput(context: VerbContext, runs: readonly EndedRun[]): Verb<void> {
  for (const mayGiveBack of [false, true]) {
    const ended = new Map(
      runs.filter(({ run }) => !hasResult(run) === mayGiveBack).map((one) => [one.run.id, one]),
    )
    if (ended.size === 0) continue
    const these = sql`run_id IN (${join(padded([...ended.keys()]))})`
    const { last, next } = yield* closeBite(context, ended, these, mayGiveBack)
    if (next === null) continue
    // In the order of their ids: of the runs before it everything was closed.
    const left = [...ended.keys()].filter((runId) => runId >= next.runId)
    const closedTo = (runId: string): string => (runId === last?.runId ? last.id : '')
    yield* storeUnclosed(left.map((runId) => ({ runId, closedTo: closedTo(runId) })))
  }
}

/** Goes on with a run that left more than one transaction closes; false when there is none. */
export function* closeRest(context: VerbContext): Verb<boolean> {
  const runId = yield* firstUnclosed()
  if (runId === null) return false
  const known = yield* selectRun(runId)
  const run = known && (yield* lockRun(context, runId)).run
  // Under the lock: somebody else may have gone on with it meanwhile.
  const unclosed = yield* selectUnclosed(runId)
  if (unclosed === null) return true
  // Gone, or begun anew: then its next end closes what is left.
  if (run === null || isActive(run)) {
    yield* forgetUnclosed(runId)
    return true
  }
  const rest = sql`run_id = ${runId} AND id > ${unclosed.closedTo}`
  const ended = new Map([[runId, { run, causeId: yield* lastEndOf(runId) }]])
  const { last, next } = yield* closeBite(context, ended, rest, !hasResult(run))
  if (next === null || last === null) yield* forgetUnclosed(runId)
  else yield* storeUnclosed([{ runId, closedTo: last.id }])
  return true
}

interface Bite {
  /** The last that was looked at. */
  readonly last: Delivery | null
  /** The first that was left. */
  readonly next: Delivery | null
}

function* closeBite(
  context: VerbContext,
  ended: ReadonlyMap<string, EndedRun>,
  which: Sql,
  mayGiveBack: boolean,
): Verb<Bite> {
  const leftOpenOnly = mayGiveBack
    ? sql`(announces = 1 OR (channel = 'github-status' AND name <> 'status'))`
    : sql`announces = 1`
  const found = yield* selectDeliveries(
    sql`${which} AND ${leftOpenOnly} ORDER BY run_id, id LIMIT ${biteMax + 1}`,
  )
  const bite = found.slice(0, biteMax)
  const now = context.now()
  for (const standing of bite) {
    const one = ended.get(standing.runId)
    if (one === undefined) continue
    const back = yield* givenBack(context, standing, one)
    const next = back ?? (standing.announces ? leftOpen(context, standing, one, now) : null)
    if (next !== null) yield* store(context, next, one.causeId)
  }
  return { last: bite.at(-1) ?? null, next: found[biteMax] ?? null }
}

/**
 * Whoever gets it back must not end unheard meanwhile: its end finds the place by its own id, and
 * waits for this transaction.
 */
function* givenBack(
  context: VerbContext,
  standing: Delivery,
  { run, causeId }: EndedRun,
): Verb<Revision | null> {
  const others = (standing.memo.saidThere ?? []).map(({ runId }) => runId)
  if (hasResult(run) || others.length === 0) return null
  const runs = yield* selectRunsUnchanged(others, context.dialect.keepUnchanged)
  const next = nextShown(standing, runs)
  if (next === null) return null
  const now = context.now()
  const { repositoryId } = standing
  const { markerKey } = next.said
  const desire = desireAgain(standing, next, now)
  const wish = { desire, run: next.run, repositoryId, markerKey, causeId }
  const shown = giveBack(standing, wish, now, context.publishing)
  const delivery = { ...shown, memo: { ...shown.memo, saidThere: next.later } }
  return { delivery, audits: [targetTaken(standing, run, next.run.id)] }
}

function leftOpen(
  context: VerbContext,
  standing: Delivery,
  { run, causeId }: EndedRun,
  now: number,
): Revision | null {
  const desire: Desire = {
    ...standing,
    markerText: '',
    content: closedContent(standing, run, now),
    final: true,
    announces: false,
    claim: 'keep',
    closesOnly: run.state === 'superseded' || run.state === 'cancelled',
  }
  const { repositoryId, markerKey, versionFence } = standing
  const shown = { ...run, claimFence: versionFence }
  const wish = { desire, run: shown, repositoryId, markerKey, causeId }
  return revise(standing, wish, () => standing.id, now, context.publishing)
}
