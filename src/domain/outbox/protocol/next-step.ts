/**
 * The next step of a delivery that is due. Pure: it depends on the row, the channel's declaration
 * and the time. A publisher that holds the delivery's lease does the step and stores the outcome
 * (after-attempt.ts). The next step is then decided from the changed row.
 *
 * States of an open delivery (status PENDING):
 *
 *   wanted     Entered by a first or newer version, when a backoff is over, or by an operator.
 *              Step: `write`, which creates or edits. If an output from before this store existed
 *              may be there, it is looked for before the create: `look-first`. If the target has
 *              had its share of progress, nothing is sent: `reserve`.
 *              Left to: SENT; in doubt; lost; backoff (wanted again later); FAILED.
 *   in doubt   Entered when an attempt ended without an answer, when its holder was lost, and when
 *              it may have been sent after the copy of a restored store (`protocol.doubt`).
 *              Step: `confirm`, which looks for it. If the channel has no look, its policy
 *              decides: `resend` or `hold`.
 *              Left to: SENT, when a look finds it up to date; wanted, when a look finds it out of
 *              date or enough looks found nothing; lost, when the output to edit is gone; held.
 *   lost       Entered when GitHub says that the output to edit is gone (`protocol.lost`).
 *              Step: `examine`, which looks for it and for its place.
 *              Left to: wanted, to be edited or recreated; FAILED, when its place is gone too;
 *              SKIPPED, when a person removed it a second time.
 *   held       Entered when only a person can tell what is there (`wait` is `held`), or when the
 *              address is missing (`no_address`).
 *              Step: `nothing`. Left by an operator, or by a key that verifies a marker.
 *
 * States of a closed delivery (SENT, FAILED, SKIPPED) that has follow-ups:
 *
 *   copies     Entered when two were found (`protocol.surplus`). Step: `remove`, one at a time.
 *   searched   Entered when a create was repeated (`protocol.scan`). Step: `scan`.
 *              Left to: copies, when there are two; over, after the last scan.
 *   unsettled  Entered when something may arrive late (`protocol.settle`). Step: `settle`.
 *              Left to: wanted, when the newest version is not shown; over, after the last read.
 *   over       Step: `nothing`. It is no longer due.
 */
import type { ChannelDeclaration } from '../channel-declaration.ts'
import type { AttemptAction, Delivery } from '../delivery.ts'
import { isOpen } from '../delivery.ts'

export type NextStep =
  | { readonly what: 'write'; readonly action: Exclude<AttemptAction, 'remove'> }
  /** Looks whether an unanswered send arrived. */
  | { readonly what: 'confirm' }
  /** It may have arrived, and the channel has no look: it is sent again, or a person decides. */
  | { readonly what: 'resend' | 'hold' }
  /** Looks whether the output is really gone. */
  | { readonly what: 'examine' }
  /** Looks for an output from before this store existed. */
  | { readonly what: 'look-first' }
  | { readonly what: 'remove'; readonly providerId: string }
  /** Looks for a second copy. */
  | { readonly what: 'scan' }
  /** Reads whether the target still shows the newest version. */
  | { readonly what: 'settle' }
  /** The remaining writes of this target are reserved for how runs end. */
  | { readonly what: 'reserve' }
  | { readonly what: 'nothing' }

/** `threadIsOld`: the thread may have an output of ours that this store does not know. */
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
  // If our clock is behind GitHub's, a thread may seem newer than the restore.
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

/** An earlier round had a comment, but its row was purged. */
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
