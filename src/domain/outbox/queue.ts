/**
 * Who goes first. Everything due is looked for by its priority; what waits until its identity may
 * write again stands in a queue, one per identity and channel, so that the backlog of one identity
 * is in nobody else's way. A queue is nothing but its rows: none can be forgotten in it.
 *
 * Before GitHub has said as whom we act, the account of the repository's name stands for whoever it
 * is: an account has a queue for those who have to ask that first, and one for reads that repair.
 */
import type { Budget } from './budget.ts'
import type { Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'
import { isProgress } from './revise.ts'

/** Creates and ends; progress; reads that repair. */
export const priorities = { first: 0, progress: 1, repair: 2 } as const

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

/** What was just looked for is sent before the look has grown old, or would be looked for anew. */
export const wasJustSought = ({ memo }: Delivery): boolean => memo.sought !== undefined

/** Where it is looked for follows from what it waits for, whoever changed that. */
export function lineUp(delivery: Delivery): Delivery {
  const queue = delivery.dueAt !== null && belongs(delivery) ? delivery.queue : null
  const waitsSince = isOpen(delivery) || queue !== null ? delivery.waitsSince : null
  return { ...delivery, queue, waitsSince, priority: priorityOf(delivery) }
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
 * The place of something that a run publishes itself. Each takes the time of one write, so whoever
 * publishes hundreds stands behind itself and not before the others.
 */
export function placeOfOwn(lastOfRun: number | null, everyMs: number, now: number): number {
  return lastOfRun === null ? now : Math.max(now, lastOfRun + everyMs)
}

/** It would go before its turn, because nobody else is there: as progress it leaves some room. */
export const isAhead = ({ waitsSince }: Pick<Delivery, 'waitsSince'>, now: number): boolean =>
  waitsSince !== null && waitsSince > now

function priorityOf(delivery: Delivery): number {
  if (isRepair(delivery)) return priorities.repair
  if (delivery.priority !== priorities.repair) return delivery.priority
  return isProgress(delivery) ? priorities.progress : priorities.first
}

export type Pace = Pick<Budget, 'identity' | 'lastWriteAt' | 'writesFrom' | 'progressFrom'>

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
  const writesFrom = pace.writesFrom ?? 0
  const spareFrom = Math.max(writesFrom, pace.progressFrom ?? 0)
  if (priority === priorities.progress) return spareFrom || dueAt
  return Math.max(writesFrom, Math.min(waitsSince, spareFrom)) || dueAt
}

export interface QueueRoom {
  readonly max: number
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
    (a, b) => a.priority - b.priority || lastOf(a) - lastOf(b) || a.waitsSince - b.waitsSince,
  )
  const served = new Set<string>()
  const picked: string[] = []
  let progress = 0
  for (const head of inOrder) {
    const identity = identityOfQueue(head.queue)
    const isFull = room.full.has(head.queue) || room.full.has(identity)
    const isLate = head.priority === priorities.progress && progress >= room.progressMax
    if (picked.length >= room.max || isFull || isLate || served.has(identity)) continue
    if (opensAt(head, paces.get(identity)) > now) continue
    served.add(identity)
    picked.push(head.id)
    if (head.priority === priorities.progress) progress += 1
  }
  return picked
}
