/** What has to be done next about a delivery that is due. */
import type { AttemptAction, Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'

export type NextStep =
  | { readonly what: 'write'; readonly action: Exclude<AttemptAction, 'remove'> }
  /** Is what we sent without an answer there? */
  | { readonly what: 'confirm' }
  /** Is what we are told is gone really gone? */
  | { readonly what: 'examine' }
  /** Is there one from before our time? */
  | { readonly what: 'look-first' }
  | { readonly what: 'remove'; readonly providerId: string }
  /** Is there a second one? */
  | { readonly what: 'scan' }
  /** Does it still show the newest version? */
  | { readonly what: 'settle' }
  /** GitHub takes so many statuses of a context; the last of them are for how it ended. */
  | { readonly what: 'save' }
  | { readonly what: 'nothing' }

/** `threadIsOld`: something of ours may stand there that this store does not know of. */
export function nextStep(delivery: Delivery, threadIsOld: boolean, now: number): NextStep {
  const { protocol, wait } = delivery
  if (!isOpen(delivery)) return followUp(delivery, now)
  if (wait === 'held' || wait === 'no_address') return { what: 'nothing' }
  if (protocol.doubt !== undefined) return { what: 'confirm' }
  if (protocol.lost !== undefined) return { what: 'examine' }
  if (isSpent(delivery)) return { what: 'save' }
  const action = actionOf(delivery)
  // By a clock that is behind GitHub's, a thread may seem younger than the restore.
  const isUnknown = threadIsOld || wasPurged(delivery) || protocol.restored !== undefined
  const mayStand = isUnknown && protocol.looked !== true && looksFirst(delivery)
  return action === 'create' && mayStand ? { what: 'look-first' } : { what: 'write', action }
}

/** Of the 1,000 that GitHub takes per commit and context. */
const progressStatusesMax = 950

function isSpent({ channel, final, protocol }: Delivery): boolean {
  return channel === 'github-status' && !final && (protocol.writes ?? 0) >= progressStatusesMax
}

/** Every status is a new row; a label is a set, and saying it twice changes nothing. */
export function actionOf({ channel, providerId }: Delivery): 'create' | 'edit' {
  if (channel === 'github-status') return 'create'
  if (channel === 'github-label') return 'edit'
  return providerId === null ? 'create' : 'edit'
}

const foundAgain: readonly Delivery['channel'][] = [
  'github-comment',
  'github-review',
  'github-check',
]

function looksFirst({ channel, providerId }: Delivery): boolean {
  return foundAgain.includes(channel) && providerId === null
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
