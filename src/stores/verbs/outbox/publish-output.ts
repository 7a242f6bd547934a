/**
 * What runs publish themselves, and messages that belong to no run.
 *
 * A run publishes each name once per round. A message with other content under the same name is
 * refused; a state may change. A message without a run goes to an address, once per channel,
 * address and key. It needs no run, subject, repository or lock, because its target is unique.
 */
import { isDeepStrictEqual } from 'node:util'
import type { WantedOutput } from '../../../domain/outbox/announce.ts'
import type { ChannelDeclaration } from '../../../domain/outbox/channel-declaration.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import {
  canBeGivenBack,
  hasOrExpectsResult,
  keptOutputOf,
  withKeptOutput,
} from '../../../domain/outbox/give-back.ts'
import { publishRefusal, type PublishRights } from '../../../domain/outbox/publish-rights.ts'
import type { RunOutput } from '../../../domain/outbox/revise.ts'
import {
  giveBack,
  isTargetTaken,
  messageTo,
  revise,
  targetTakenAudit,
} from '../../../domain/outbox/revise.ts'
import type { Run } from '../../../domain/run.ts'
import { ConflictError, ForbiddenError, InvalidInputError } from '../../../errors.ts'
import { markerKeyOf, ownMarkerKey } from '../../../marker-keys.ts'
import type { MessageRequest, PublishAnswer, PublishRequest } from '../../../store/outbox-store.ts'
import type { Verb } from '../../sql.ts'
import { deliveriesAt, selectNamed } from '../../tables/delivery-table.ts'
import { selectContextsAt, selectRunsUnchanged } from '../../tables/run-table.ts'
import type { VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { checkHolder } from '../runs/hold-run.ts'
import { enterLine, storeDeliveries, storeRevision } from './store-deliveries.ts'

/** `isTaken`: it is kept for later, but a newer run has the target, and the caller must be told. */
export interface PublishedOutput extends PublishAnswer {
  readonly isTaken: boolean
}

export function* publishOutput(
  context: VerbContext,
  request: PublishRequest,
): Verb<PublishedOutput> {
  const { run, subject } = yield* lockRun(context, request.runId)
  if (request.leaseHash !== null) checkHolder(run, request.leaseHash, context.now())
  const rights = yield* rightsAt(request.rightsOf(run.type), run, subject.scope)
  const channel = context.channels.of(request.channel)
  const refusal = publishRefusal({ channel, content: request.content }, run, rights)
  if (refusal !== null) throw new ForbiddenError(refusal.code, refusal.message, refusal)
  const wanted = wantedOf(request, channel, run, subject.scope)
  const named = yield* selectNamed(run.id, request.name, run.round)
  if (named !== null) refuseOtherContent(named, wanted, request)
  const existing = named ?? (yield* deliveriesAt([wanted.target])).get(wanted.target) ?? null
  const output = {
    wanted,
    run,
    repositoryId: subject.scope,
    markerKey: ownMarkerKey(run, wanted.markerText),
    causeId: run.fence,
  }
  if (existing !== null && isTargetTaken(existing, run))
    return yield* keepForLater(context, existing, output)
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
  // The lock on the subject keeps what a run publishes in order.
  const delivery = yield* enterLine(context, next.delivery)
  const stored = yield* storeRevision(context, { ...next, delivery }, run.fence)
  return { delivery: stored, already: false, isTaken: false }
}

/** Another program on this store may show run types that this one's configuration does not have. */
function* rightsAt(
  rights: PublishRights,
  { headSha }: Run,
  repositoryId: string,
): Verb<PublishRights> {
  const shown = headSha === null ? [] : yield* selectContextsAt(repositoryId, headSha)
  return { ...rights, reserved: [...rights.reserved, ...shown] }
}

/**
 * A newer run has the target. A status is kept in case that run ends without a result. If it
 * already has, this status is shown at once.
 */
function* keepForLater(
  context: VerbContext,
  existing: Delivery,
  output: RunOutput,
): Verb<PublishedOutput> {
  if (!canBeGivenBack(output.wanted.channel, existing)) throw targetTakenError(context, existing)
  const { keepUnchanged } = context.dialect
  const [owner] = yield* selectRunsUnchanged([existing.runId ?? ''], keepUnchanged)
  if (owner !== undefined && !hasOrExpectsResult(owner)) {
    const delivery = giveBack(existing, output, context.now(), context.publishing)
    const audits = [targetTakenAudit(existing, owner, output.run.id)]
    const stored = yield* storeRevision(context, { delivery, audits }, output.causeId)
    return { delivery: stored, already: false, isTaken: false }
  }
  const kept = keptOutputOf(output.run, output)
  const before = existing.protocol.saidThere?.find(({ runId }) => runId === kept.runId)
  if (isDeepStrictEqual(before, kept)) return { delivery: existing, already: true, isTaken: true }
  const delivery = { ...existing, protocol: withKeptOutput(existing.protocol, kept) }
  const audits = [targetTakenAudit(existing, output.run, existing.runId)]
  const stored = yield* storeRevision(context, { delivery, audits }, output.causeId)
  return { delivery: stored, already: false, isTaken: true }
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

function refuseOtherContent(named: Delivery, wanted: WantedOutput, request: PublishRequest): void {
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
    hint: canBeGivenBack(channels.of(channel), existing)
      ? 'It is kept, and shown if that run is cancelled, superseded or skipped.'
      : 'Stop: nothing of this run is shown there any more.',
  })
}

export function* sendMessage(context: VerbContext, request: MessageRequest): Verb<PublishAnswer> {
  const { channel, address, key, content } = request
  const { kind, place } = context.channels.of(channel)
  if (kind !== 'message' || place !== 'address') {
    const message = `${channel} does not send messages to an address`
    throw new InvalidInputError('no_place', 'channel', message)
  }
  const target = `message ${JSON.stringify([channel, address, key])}`
  const existing = (yield* deliveriesAt([target])).get(target)
  if (existing !== undefined) {
    if (existing.content !== JSON.stringify(content)) throw differs(key)
    return { delivery: existing, already: true }
  }
  const message = { channel, target, name: key, address, content, markerKey: markerKeyOf(target) }
  const { publishing } = context
  const made = messageTo(message, context.newId('del'), context.now(), publishing)
  const [stored] = yield* storeDeliveries(context, [made])
  return { delivery: stored ?? made, already: false }
}

function differs(key: string): ConflictError {
  return new ConflictError('content_differs', `${key} was already sent there with other content`, {
    hint: 'Send something else under another key; the same message is sent once.',
  })
}
