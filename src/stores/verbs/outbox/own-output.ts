/**
 * What a run publishes itself: once per name and round. A message with other content under the same
 * name is refused; a state may be said anew. What shows work under way is closed with the run.
 */
import { isDeepStrictEqual } from 'node:util'
import type { WantedOutput } from '../../../domain/outbox/announce.ts'
import type { ChannelDeclaration, Content } from '../../../domain/outbox/channel-declaration.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { publishRefusal, type PublishRights } from '../../../domain/outbox/publish-rights.ts'
import type { Revision, RunOutput } from '../../../domain/outbox/revise.ts'
import { giveBack, isTaken, revise, targetTaken } from '../../../domain/outbox/revise.ts'
import {
  hasResult,
  outputShownAgain,
  isGivenBack,
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
  const channel = context.channels.of(request.channel)
  const refusal = publishRefusal({ channel, content: request.content }, run, rights)
  if (refusal !== null) throw new ForbiddenError(refusal.code, refusal.message, refusal)
  const wanted = wantedOf(request, channel, run, subject.scope)
  const named = yield* selectNamed(run.id, request.name, run.round)
  if (named !== null) refuseOther(named, wanted, request)
  const existing = named ?? (yield* deliveriesAt([wanted.target])).get(wanted.target) ?? null
  const output = {
    wanted,
    run,
    repositoryId: subject.scope,
    markerKey: ownMarkerKey(run, wanted.markerText),
    causeId: run.fence,
  }
  if (existing !== null && isTaken(existing, run))
    return yield* sayAtTaken(context, existing, output)
  const next = revise(
    existing,
    output,
    () => context.newId('del'),
    context.now(),
    context.publishing,
  )
  if (next === null) {
    if (existing === null) throw new ConflictError('not_published', 'there is nothing to publish')
    return { delivery: existing, already: true, isTaken: false }
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
function* sayAtTaken(
  context: VerbContext,
  existing: Delivery,
  output: RunOutput,
): Verb<PublishedOwn> {
  if (!isGivenBack(output.wanted.channel, existing)) throw targetTakenError(context, existing)
  const { keepUnchanged } = context.dialect
  const [owner] = yield* selectRunsUnchanged([existing.runId ?? ''], keepUnchanged)
  if (owner !== undefined && !hasResult(owner)) {
    const delivery = giveBack(existing, output, context.now(), context.publishing)
    const audits = [targetTaken(existing, owner, output.run.id)]
    const stored = yield* store(context, { delivery, audits }, output.causeId)
    return { delivery: stored, already: false, isTaken: false }
  }
  const said = saidBy(output.run, output)
  const before = existing.protocol.saidThere?.find(({ runId }) => runId === said.runId)
  if (isDeepStrictEqual(before, said)) return { delivery: existing, already: true, isTaken: true }
  const delivery = { ...existing, protocol: withSaid(existing.protocol, said) }
  const audits = [targetTaken(existing, output.run, existing.runId)]
  const stored = yield* store(context, { delivery, audits }, output.causeId)
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

function wantedOf(
  { name, content }: PublishRequest,
  channel: ChannelDeclaration,
  run: Run,
  repositoryId: string,
): WantedOutput {
  const { targetOf } = channel.output
  const own = `message ${run.id} ${run.round} ${name}`
  return {
    channel,
    kind: channel.kind,
    name,
    target: targetOf?.({ run, repositoryId, name, content }) ?? own,
    markerText: ownMarkerText(channel, name, run),
    ...placeOf(channel, run),
    content,
    final: !channel.showsWork(content),
    announces: channel.showsWork(content),
    claim: 'take',
    closesOnly: false,
  }
}

function ownMarkerText(channel: ChannelDeclaration, name: string, run: Run): string {
  const subject = channel.output.markerNamesSubject === true ? `${run.subject}\n` : ''
  return `${run.type}\n${subject}${run.pair}\n${channel.name} ${name} ${run.round}`
}

function placeOf({ place }: ChannelDeclaration, run: Run): Pick<WantedOutput, 'thread' | 'sha'> {
  switch (place) {
    case 'commit':
      if (run.repo === null) throw noPlace('a repository')
      if (run.headSha === null) throw noPlace('a commit')
      return { thread: run.pr, sha: run.headSha }
    case 'thread':
      if (run.repo === null) throw noPlace('a repository')
      if (run.pr === null) throw noPlace('a pull request')
      return { thread: run.pr, sha: null }
    case 'address':
      throw noPlace('somebody with an address')
    case 'none':
      return { thread: null, sha: null }
  }
}

function noPlace(what: string): InvalidInputError {
  return new InvalidInputError('no_place', 'channel', `this run is not about ${what}`, {
    hint: 'Publish on a channel that fits the run, or claim it with what the channel needs.',
  })
}

function refuseOther(named: Delivery, wanted: WantedOutput, request: PublishRequest): void {
  const sameTarget = named.channel === wanted.channel.name && named.target === wanted.target
  const isMessage = wanted.kind === 'message'
  if (sameTarget && (!isMessage || named.content === JSON.stringify(request.content))) return
  throw new ConflictError(
    'content_differs',
    `${request.name} was already published in this round with other content`,
    { hint: 'Publish something else under another name; the same thing is published once.' },
  )
}

export function targetTakenError(
  { channels }: Pick<VerbContext, 'channels'>,
  existing: Delivery,
): ConflictError {
  const { target, channel } = existing
  return new ConflictError('target_taken', `a newer run publishes there now: ${target}`, {
    hint: isGivenBack(channels.of(channel), existing)
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
    const left = [...ended.keys()].filter((runId) => runId >= (next.runId ?? ''))
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
    ? sql`(${join([sql`announces = 1`, ...givenBackBy(context)], ' OR ')})`
    : sql`announces = 1`
  const found = yield* selectDeliveries(
    sql`${which} AND ${leftOpenOnly} ORDER BY run_id, id LIMIT ${biteMax + 1}`,
  )
  const bite = found.slice(0, biteMax)
  const now = context.now()
  for (const existing of bite) {
    const one = ended.get(existing.runId ?? '')
    if (one === undefined) continue
    const back = yield* givenBack(context, existing, one)
    const next = back ?? (existing.announces ? leftOpen(context, existing, one, now) : null)
    if (next !== null) yield* store(context, next, one.causeId)
  }
  return { last: bite.at(-1) ?? null, next: found[biteMax] ?? null }
}

/** What a run publishes itself where another may have to be shown again. */
function givenBackBy({ channels }: VerbContext): Sql[] {
  return channels.all
    .filter(({ givesBack }) => givesBack)
    .map(({ name, announcement }) =>
      announcement === undefined
        ? sql`channel = ${name}`
        : sql`(channel = ${name} AND name <> ${announcement.name})`,
    )
}

/**
 * Whoever gets it back must not end unheard meanwhile: its end finds the place by its own id, and
 * waits for this transaction.
 */
function* givenBack(
  context: VerbContext,
  existing: Delivery,
  { run, causeId }: EndedRun,
): Verb<Revision | null> {
  const { saidThere = [] } = existing.protocol
  const others = saidThere.map(({ runId }) => runId).filter((runId) => runId !== null)
  const { repositoryId } = existing
  if (hasResult(run) || others.length === 0 || repositoryId === null) return null
  const runs = yield* selectRunsUnchanged(others, context.dialect.keepUnchanged)
  const next = nextShown(existing, runs)
  if (next === null) return null
  const now = context.now()
  const { markerKey } = next.said
  const channel = context.channels.of(existing.channel)
  const output = {
    wanted: outputShownAgain(channel, existing, next, now),
    run: next.run,
    repositoryId,
    markerKey,
    causeId,
  }
  const shown = giveBack(existing, output, now, context.publishing)
  const delivery = { ...shown, protocol: { ...shown.protocol, saidThere: next.later } }
  return { delivery, audits: [targetTaken(existing, run, next.run.id)] }
}

function leftOpen(
  context: VerbContext,
  existing: Delivery,
  { run, causeId }: EndedRun,
  now: number,
): Revision | null {
  const channel = context.channels.of(existing.channel)
  const { repositoryId, markerKey, versionFence } = existing
  // Whoever knows the channel closes it: the reconciler finds it again.
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
