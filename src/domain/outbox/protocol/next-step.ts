/**
 * What to do next about a delivery that is due. Pure: from the row, what its channel declares and
 * the time. A publisher that holds the delivery's lease carries the step out and records what came
 * of it (advance.ts); the next step is decided anew from the row that follows.
 *
 * States of an open delivery (status PENDING):
 *
 *   wanted     Entered by a first or newer version, by a retry's time or by an operator.
 *              Step: `write`, which creates or edits. One that may be there from before our time
 *              is looked for before it is created: `look-first`. One whose target has had its
 *              share of progress is not sent: `reserve`.
 *              Left to: SENT; in doubt; lost; backoff (wanted again later); FAILED.
 *   in doubt   Entered when an attempt ended without an answer, when its holder died, and for what
 *              a restored store may have sent (`protocol.doubt`).
 *              Step: `confirm`, which looks for it; where the channel cannot be looked at, its
 *              policy: `resend` or `hold`.
 *              Left to: SENT, when it is found as it should be; wanted, when it is found otherwise
 *              or was looked for often enough; lost, when an edit finds nothing to edit; held.
 *   lost       Entered when what we edit is said to be gone (`protocol.lost`).
 *              Step: `examine`, which looks for it and for its place.
 *              Left to: wanted, to be edited or made anew; FAILED, when its place is gone too;
 *              SKIPPED, when a person removed it a second time.
 *   held       Entered when nobody but a person can tell what is there (`wait` is `held`), or
 *              where it has to go (`no_address`).
 *              Step: `nothing`. Left by an operator, or by a key that verifies a marker.
 *
 * States of a closed delivery (SENT, FAILED, SKIPPED) that is due for what follows it:
 *
 *   copies     Entered when two were found (`protocol.surplus`). Step: `remove`, one at a time.
 *   searched   Entered when a create was repeated (`protocol.scan`). Step: `scan`.
 *              Left to: copies, when there are two; else it is over after its last time.
 *   unsettled  Entered when something may arrive late (`protocol.settle`). Step: `settle`.
 *              Left to: wanted, when it does not show the newest version; else over after the last.
 *   over       Step: `nothing`. It is due no more.
 */
import type { ChannelDeclaration } from '../channel-declaration.ts'
import type { AttemptAction, Delivery } from '../delivery.ts'
import { isOpen } from '../delivery.ts'

export type NextStep =
  | { readonly what: 'write'; readonly action: Exclude<AttemptAction, 'remove'> }
  /** Is what we sent without an answer there? */
  | { readonly what: 'confirm' }
  /** It may be there, and nobody can look: it is sent again, or a person decides. */
  | { readonly what: 'resend' | 'hold' }
  /** Is what is said to be gone really gone? */
  | { readonly what: 'examine' }
  /** Is there one from before our time? */
  | { readonly what: 'look-first' }
  | { readonly what: 'remove'; readonly providerId: string }
  /** Is there a second one? */
  | { readonly what: 'scan' }
  /** Does it still show the newest version? */
  | { readonly what: 'settle' }
  /** The other side takes so many; the last of them are for how it ended. */
  | { readonly what: 'reserve' }
  | { readonly what: 'nothing' }

/** `threadIsOld`: something of ours may be there that this store does not know of. */
export function nextStep(
  delivery: Delivery,
  channel: ChannelDeclaration,
  threadIsOld: boolean,
  now: number,
): NextStep {
  const { protocol, wait } = delivery
  if (!isOpen(delivery)) return followUp(delivery, now)
  if (wait === 'held' || wait === 'no_address') return { what: 'nothing' }
  if (protocol.doubt !== undefined) return whenInDoubt(channel)
  if (protocol.lost !== undefined) return { what: 'examine' }
  if (isSpent(delivery, channel)) return { what: 'reserve' }
  const action = actionOf(delivery, channel)
  // By a clock that is behind GitHub's, a thread may seem younger than the restore.
  const isUnknown = threadIsOld || wasPurged(delivery) || protocol.restored !== undefined
  const mayBeThere = isUnknown && protocol.looked !== true && channel.looksFirst
  return action === 'create' && mayBeThere ? { what: 'look-first' } : { what: 'write', action }
}

function whenInDoubt({ inDoubt: { policy } }: ChannelDeclaration): NextStep {
  return { what: policy }
}

function isSpent({ final, protocol }: Delivery, { progressWritesMax }: ChannelDeclaration) {
  if (final || progressWritesMax === null) return false
  return (protocol.writes ?? 0) >= progressWritesMax
}

export function actionOf(
  { providerId }: Pick<Delivery, 'providerId'>,
  { replacedBy }: Pick<ChannelDeclaration, 'replacedBy'>,
): 'create' | 'edit' {
  if (replacedBy === 'create') return 'create'
  if (replacedBy === 'set') return 'edit'
  return providerId === null ? 'create' : 'edit'
}

/** Its run was there before, and nobody knows what became of its comment. */
function wasPurged({ name, round }: Delivery): boolean {
  return name === 'anchor' && round > 1
}

function followUp({ protocol }: Delivery, now: number): NextStep {
  const [surplus] = protocol.surplus ?? []
  if (surplus !== undefined) return { what: 'remove', providerId: surplus }
  if (protocol.scan !== undefined && protocol.scan.at <= now) return { what: 'scan' }
  if (protocol.settle !== undefined && protocol.settle.at <= now) return { what: 'settle' }
  return { what: 'nothing' }
}
