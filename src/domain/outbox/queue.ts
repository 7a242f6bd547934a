/**
 * Who goes first. Everything due is looked for by its priority; what waits until its identity may
 * write again stands in a queue, one per identity and channel, so that the backlog of one identity
 * is in nobody else's way. A queue is nothing but its rows: none can be forgotten in it.
 *
 * Before GitHub has said as whom we act, the account of the repository's name stands for whoever it
 * is: an account has a queue for those who have to ask that first, and one for reads that repair.
 */
import type { Budget, WriteKind } from './budget.ts'
import type { Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'
import { priorities, priorityToSend } from './priority.ts'

/** Before progress, because it is what the run was for, but with a smaller share of the budget. */
const order: readonly number[] = [priorities.first, priorities.further, priorities.progress]

export function queueName(identity: string, channel: string): string {
  return `${identity} ${channel}`
}

export function identityOfQueue(queue: string): string {
  return queue.slice(0, queue.lastIndexOf(' '))
}

/** Where those of an account wait who have to ask first as whom we act there. */
export const entryQueue = (account: string): string => `${account} entry`

export const isEntryQueue = (queue: string): boolean => queue.endsWith(' entry')

export const repairQueue = (account: string): string => `${account} repair`

export const isRepairQueue = (queue: string): boolean => queue.endsWith(' repair')

/** Or an identity. */
export const isQueue = (party: string): boolean => party.includes(' ')

/** It is not sent next but looked at: what became of it, or what stands there. */
export function isRepair(delivery: Delivery): boolean {
  return !isOpen(delivery) || delivery.wait === 'in_doubt'
}

/**
 * What was just looked for is sent before the look has grown old, or would be looked for anew. Of
 * further messages only the one whose turn it was: else all that a run had waiting when its store
 * was restored would go before everybody.
 */
export function wasJustSought({ protocol: { sought }, priority }: Delivery): boolean {
  return sought !== undefined && (priority !== priorities.further || sought.isTurn === true)
}

/** Where it is looked for follows from what it waits for, whoever changed that. */
export function lineUp(delivery: Delivery): Delivery {
  const queue = delivery.dueAt !== null && belongs(delivery) ? delivery.queue : null
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

/** For as long as it is looked at, its priority does not say it. */
function protocolOf(delivery: Delivery): Delivery['protocol'] {
  const { further: _before, ...protocol } = delivery.protocol
  return isRepair(delivery) && isFurther(delivery) ? { ...protocol, further: true } : protocol
}

function belongs(delivery: Delivery): boolean {
  const { queue, wait } = delivery
  if (queue === null) return false
  return isRepairQueue(queue) ? isRepair(delivery) : isOpen(delivery) && wait === 'budget'
}

/**
 * Behind those whose wish is older. Its place is its own until an attempt begins: neither a newer
 * version nor a turn in which it was refused once more puts it behind others again.
 */
export function inQueue(delivery: Delivery, queue: string | null): Delivery {
  if (queue === null) return { ...delivery, queue }
  return { ...delivery, queue, waitsSince: delivery.waitsSince ?? delivery.changedAt }
}

/**
 * In each turn every run has one: whoever publishes hundreds stands behind itself. Who is new goes
 * with those whose turn it is, neither before all nor behind all that anybody has waiting.
 */
export function turnOf(firstThere: number | null, lastOfRun: number | null): number {
  return Math.max(firstThere ?? 0, lastOfRun === null ? 0 : lastOfRun + 1)
}

/** Only in the queue of an identity are there turns. */
export function needsTurn({ queue, priority, turn }: Delivery): boolean {
  return queue !== null && !isEntryQueue(queue) && priority === priorities.further && turn === null
}

export function kindOf(delivery: Delivery): WriteKind {
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

/** The first of a queue and priority. */
export interface QueueHead {
  readonly id: string
  readonly queue: string
  readonly priority: number
  readonly waitsSince: number
  readonly dueAt: number
}

/** When the first of a queue may be tried. A read that repairs is never too early. */
export function opensAt(
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
  /** Of progress and further messages together. */
  readonly progressMax: number
  /** Identities and queues that have all the hands they may have. */
  readonly full: ReadonlySet<string>
}

/** The next of each queue, one after the other: after the queue that was served last. */
export function pickInTurn(
  heads: readonly QueueHead[],
  lastServed: string,
  full: ReadonlySet<string>,
  max: number,
): string[] {
  const free = heads.filter(({ queue }) => !full.has(queue))
  const turn = ({ queue }: QueueHead): number => (queue > lastServed ? 0 : 1)
  const ordered = free.toSorted((a, b) => turn(a) - turn(b) || (a.queue < b.queue ? -1 : 1))
  const queues = [...new Set(ordered.map(({ queue }) => queue))].slice(0, Math.max(0, max))
  return queues.flatMap((queue) => ordered.find((head) => head.queue === queue)?.id ?? [])
}

/** One of each identity: the next one has to wait again. Who wrote longest ago goes first. */
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
    const isLate = head.priority !== priorities.first && progress >= room.progressMax
    if (picked.length >= room.max || isFull || isLate || served.has(identity)) continue
    if (opensAt(head, paces.get(identity)) > now) continue
    served.add(identity)
    picked.push(head.id)
    if (head.priority !== priorities.first) progress += 1
  }
  return picked
}

const rankOf = ({ priority }: QueueHead): number => order.indexOf(priority)
