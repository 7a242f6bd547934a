/**
 * Who goes first. Everything due is looked for by its priority; what waits until its identity may
 * write again stands in a queue, one per identity and channel, so that the backlog of one identity
 * is in nobody else's way. A queue is nothing but its rows: none can be forgotten in it.
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
  const { wait, dueAt } = delivery
  const queue = wait === 'budget' && dueAt !== null && isOpen(delivery) ? delivery.queue : null
  const waitsSince = isOpen(delivery) ? delivery.waitsSince : null
  return { ...delivery, queue, waitsSince, priority: priorityOf(delivery) }
}

/**
 * Behind those whose wish is older. Its place is its own until an attempt begins: neither a newer
 * version nor a turn in which it was refused once more puts it behind others again.
 */
export function inQueue(delivery: Delivery, queue: string | null): Delivery {
  if (queue === null) return { ...delivery, queue }
  return { ...delivery, queue, waitsSince: delivery.waitsSince ?? delivery.changedAt }
}

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

/** When the first of a queue may be tried. */
export function opensAt({ priority, dueAt }: QueueHead, pace: Pace | undefined): number {
  if (pace === undefined) return dueAt
  const { writesFrom, progressFrom } = pace
  if (priority === priorities.first) return writesFrom ?? dueAt
  return Math.max(writesFrom ?? 0, progressFrom ?? 0) || dueAt
}

export interface QueueRoom {
  readonly max: number
  readonly progressMax: number
  /** Identities and queues that have all the hands they may have. */
  readonly full: ReadonlySet<string>
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
