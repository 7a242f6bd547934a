/**
 * Which delivery is sent first. Everything that is due is taken by priority. A delivery whose
 * identity may not write yet waits in a queue. There is one queue per identity and channel, so the
 * backlog of one identity delays nobody else. A queue is only a value in the delivery rows, so no
 * delivery can be forgotten in it.
 *
 * Before GitHub has named our identity, the account in the repository's name is used instead. Each
 * account has two queues: an entry queue for deliveries that must first ask for the identity, and a
 * repair queue for reads that repair.
 */
import type { Budget, WriteKind } from './budget.ts'
import type { Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'

/** The numbers are stored. `further`: a further message of a run, as in the glossary. */
export const priorities = {
  /** Creates, and the final version of a target. */
  first: 0,
  progress: 1,
  /** Reads that find out what is on GitHub. */
  repair: 2,
  further: 3,
} as const

/** A later edit will replace it, so it may wait for everything else. */
export function isProgress({ final, sentFence, versionFence }: Delivery): boolean {
  return !final && sentFence === versionFence
}

/** The priority of a version that is to be sent, unless it is a further message. */
export function priorityToSend(delivery: Delivery): number {
  return isProgress(delivery) ? priorities.progress : priorities.first
}

/** Further messages go before progress, but they get a smaller share of the budget. */
const order: readonly number[] = [priorities.first, priorities.further, priorities.progress]

export function queueName(identity: string, channel: string): string {
  return `${identity} ${channel}`
}

export function identityOfQueue(queue: string): string {
  return queue.slice(0, queue.lastIndexOf(' '))
}

/** The queue of deliveries of an account that must first ask GitHub for our identity there. */
export const entryQueue = (account: string): string => `${account} entry`

export const isEntryQueue = (queue: string): boolean => queue.endsWith(' entry')

export const repairQueue = (account: string): string => `${account} repair`

export const isRepairQueue = (queue: string): boolean => queue.endsWith(' repair')

/** If not, the party is an identity. */
export const isQueue = (party: string): boolean => party.includes(' ')

/** The next thing to do is a look, not a send. */
export function isRepair(delivery: Delivery): boolean {
  return !isOpen(delivery) || delivery.wait === 'in_doubt'
}

/**
 * A look has just not found it, so it must be sent soon. If it waited, it would need a new look. Of
 * the further messages this is true only for the one whose turn it was. Otherwise, after a restore,
 * all waiting messages of one run would go before everybody else.
 */
export function wasJustLookedFor({ protocol: { sought }, priority }: Delivery): boolean {
  return sought !== undefined && (priority !== priorities.further || sought.isTurn === true)
}

/** Sets the fields that decide when it is taken, from what it waits for. */
export function withQueueFields(delivery: Delivery): Delivery {
  const queue = delivery.dueAt !== null && belongsInQueue(delivery) ? delivery.queue : null
  const waitsSince = isOpen(delivery) || queue !== null ? delivery.waitsSince : null
  const priority = priorityOf(delivery)
  const turn = isFurther(delivery) ? delivery.turn : null
  return { ...delivery, queue, waitsSince, turn, priority, protocol: protocolOf(delivery) }
}

function isFurther(delivery: Delivery): boolean {
  const { priority, protocol } = delivery
  if (!isOpen(delivery)) return false
  return priority === priorities.repair
    ? protocol.further === true
    : priority === priorities.further
}

/** While it waits for a look, its priority is `repair`. So the protocol keeps `further`. */
function protocolOf(delivery: Delivery): Delivery['protocol'] {
  const { further: _before, ...protocol } = delivery.protocol
  return isRepair(delivery) && isFurther(delivery) ? { ...protocol, further: true } : protocol
}

function belongsInQueue(delivery: Delivery): boolean {
  const { queue, wait } = delivery
  if (queue === null) return false
  return isRepairQueue(queue) ? isRepair(delivery) : isOpen(delivery) && wait === 'budget'
}

/**
 * Its place is behind those that have waited longer. It keeps the place until an attempt begins. A
 * newer version does not lose the place, and neither does a turn in which the budget was refused.
 */
export function inQueue(delivery: Delivery, queue: string | null): Delivery {
  if (queue === null) return { ...delivery, queue }
  return { ...delivery, queue, waitsSince: delivery.waitsSince ?? delivery.changedAt }
}

/**
 * Every run gets one further message per turn, so a run that publishes hundreds delays only itself.
 * A new run joins the current turn: it goes neither before everybody nor behind everybody.
 */
export function turnOf(currentTurn: number | null, lastOfRun: number | null): number {
  return Math.max(currentTurn ?? 0, lastOfRun === null ? 0 : lastOfRun + 1)
}

/** Only the queue of an identity has turns. */
export function needsTurn({ queue, priority, turn }: Delivery): boolean {
  return queue !== null && !isEntryQueue(queue) && priority === priorities.further && turn === null
}

export function writeKindOf(delivery: Delivery): WriteKind {
  const priority = priorityOf(delivery)
  if (priority === priorities.progress) return 'progress'
  return priority === priorities.further ? 'further' : 'first'
}

function priorityOf(delivery: Delivery): number {
  if (isRepair(delivery)) return priorities.repair
  if (delivery.priority !== priorities.repair) return delivery.priority
  if (isFurther(delivery)) return priorities.further
  return priorityToSend(delivery)
}

export type Pace = Pick<
  Budget,
  'identity' | 'lastWriteAt' | 'writesFrom' | 'progressFrom' | 'furtherFrom'
>

/** The first delivery of one queue and one priority. */
export interface QueueHead {
  readonly id: string
  readonly queue: string
  readonly priority: number
  readonly waitsSince: number
  readonly dueAt: number
}

/** When the head of a queue may be tried. A read that repairs is never too early. */
export function mayBeTriedAt(
  { priority, dueAt, waitsSince }: QueueHead,
  pace: Pace | undefined,
): number {
  if (priority === priorities.repair) return Math.min(dueAt, waitsSince)
  if (pace === undefined) return dueAt
  const { writesFrom, progressFrom, furtherFrom } = pace
  if (priority === priorities.first) return writesFrom ?? dueAt
  const ownFrom = priority === priorities.further ? furtherFrom : progressFrom
  return Math.max(writesFrom ?? 0, ownFrom ?? 0) || dueAt
}

export interface QueueRoom {
  readonly max: number
  /** The maximum of progress and further messages together. */
  readonly progressMax: number
  /** Identities and queues that already have all the slots they may have. */
  readonly full: ReadonlySet<string>
}

/** Takes the head of each queue in turn, beginning after the queue that was served last. */
export function pickRoundRobin(
  heads: readonly QueueHead[],
  lastServed: string,
  full: ReadonlySet<string>,
  max: number,
): string[] {
  const free = heads.filter(({ queue }) => !full.has(queue))
  const lap = ({ queue }: QueueHead): number => (queue > lastServed ? 0 : 1)
  const ordered = free.toSorted((a, b) => lap(a) - lap(b) || (a.queue < b.queue ? -1 : 1))
  const queues = [...new Set(ordered.map(({ queue }) => queue))].slice(0, Math.max(0, max))
  return queues.flatMap((queue) => ordered.find((head) => head.queue === queue)?.id ?? [])
}

/**
 * Takes one head per identity, because the next write of an identity has to wait again. The
 * identity that wrote longest ago goes first.
 */
export function pickHeads(
  heads: readonly QueueHead[],
  paces: ReadonlyMap<string, Pace>,
  room: QueueRoom,
  now: number,
): string[] {
  const lastOf = (head: QueueHead): number =>
    paces.get(identityOfQueue(head.queue))?.lastWriteAt ?? 0
  const inOrder = heads.toSorted(
    (a, b) => rankOf(a) - rankOf(b) || lastOf(a) - lastOf(b) || a.waitsSince - b.waitsSince,
  )
  const served = new Set<string>()
  const picked: string[] = []
  let progress = 0
  for (const head of inOrder) {
    const identity = identityOfQueue(head.queue)
    const isFull = room.full.has(head.queue) || room.full.has(identity)
    const hasNoRoom = head.priority !== priorities.first && progress >= room.progressMax
    if (picked.length >= room.max || isFull || hasNoRoom || served.has(identity)) continue
    if (mayBeTriedAt(head, paces.get(identity)) > now) continue
    served.add(identity)
    picked.push(head.id)
    if (head.priority !== priorities.first) progress += 1
  }
  return picked
}

const rankOf = ({ priority }: QueueHead): number => order.indexOf(priority)
