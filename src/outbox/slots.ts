/**
 * How much of this process one party may have in hand. A hand is busy for as long as a request
 * takes: whoever has many due, or is answered slowly, must leave some to the others. Progress
 * leaves some to creates and ends, queues to what is new, and all of them to reads that repair.
 */
import { priorities } from '../domain/outbox/priority.ts'
import {
  identityOfQueue,
  isEntryQueue,
  isQueue,
  isRepair,
  isRepairQueue,
  queueName,
  wasJustSought,
} from '../domain/outbox/queue.ts'
import type { Delivery } from '../domain/outbox/delivery.ts'
import type { LeasedDelivery, LeaseRoom } from '../store/outbox-store.ts'

const atOnceDefault = 6
const repairsAtOnce = 4
/** Of the reads that repair: one is always left to those that stand in no queue. */
const repairsQueuedMax = 3
const repairsOfAccount = 2
/** For the question as whom we act, which may hang: one of each account. */
const entriesAtOnce = 2
const perQueueMax = 2

export type Release = () => void

export class Slots {
  readonly #max: number
  readonly #byParty = new Map<string, number>()
  #taken = 0
  #progress = 0
  #queued = 0
  #repairs = 0
  #repairsQueued = 0
  #entries = 0
  #lastServed = { entry: '', repair: '' }
  /** Each with the queue in which what comes from it would have to wait here. */
  readonly #passedOver = new Map<string, string>()

  constructor(max = atOnceDefault) {
    this.#max = max
  }

  /** Null when nothing can be taken. */
  room(): Required<LeaseRoom> | null {
    const limit = Math.max(0, this.#max - this.#taken)
    const repairsMax = Math.max(0, repairsAtOnce - this.#repairs)
    if (limit === 0 && repairsMax === 0) return null
    const progressMax = Math.max(0, Math.ceil(this.#max / 2) - this.#progress)
    const queuedMax = Math.max(0, Math.ceil((this.#max * 2) / 3) - this.#queued)
    return {
      limit,
      progressMax,
      queuedMax,
      repairsMax,
      repairsQueuedMax: Math.max(0, repairsQueuedMax - this.#repairsQueued),
      entriesMax: Math.max(0, entriesAtOnce - this.#entries),
      full: this.#full(),
      lastServed: this.#lastServed,
    }
  }

  take({ delivery, fromQueue }: LeasedDelivery): Release {
    const isRepairing = isRepair(delivery)
    const progress = !isRepairing && delivery.priority !== priorities.first ? 1 : 0
    const queued = fromQueue === null ? 0 : 1
    const add = (sign: 1 | -1): void => {
      if (isRepairing) {
        this.#repairs += sign
        this.#repairsQueued += sign * queued
        return
      }
      this.#taken += sign
      this.#progress += sign * progress
      this.#queued += sign * queued
    }
    if (fromQueue !== null) this.#served(fromQueue)
    add(1)
    return () => add(-1)
  }

  #served(queue: string): void {
    const { entry, repair } = this.#lastServed
    if (isEntryQueue(queue)) this.#lastServed = { entry: queue, repair }
    if (isRepairQueue(queue)) this.#lastServed = { entry, repair: queue }
  }

  /** For the queues of an account. Null when it has its share already. */
  shareOf(queue: string): Release | null {
    const entering = isEntryQueue(queue) ? 1 : 0
    if (this.#isFull(queue) || this.#entries + entering > entriesAtOnce) return null
    this.#entries += entering
    this.#add(queue, 1)
    return () => {
      this.#entries -= entering
      this.#add(queue, -1)
    }
  }

  /**
   * Null when that identity has its share already, or that channel of it. What was just looked for
   * has one more: put off, it would have to be looked for anew.
   */
  share(identity: string, delivery: Delivery): Release | null {
    const extra = wasJustSought(delivery) ? 1 : 0
    const queue = queueName(identity, delivery.channel)
    if (this.#isFull(identity, extra) || this.#isFull(queue, extra)) return null
    this.#add(identity, 1)
    this.#add(queue, 1)
    return () => {
      this.#add(identity, -1)
      this.#add(queue, -1)
    }
  }

  /** Takes nothing more from the queue until there is a hand for what waits in the other one. */
  passOver(queue: string, other: string): void {
    this.#passedOver.set(queue, other)
  }

  #full(): string[] {
    for (const [queue, other] of this.#passedOver) {
      if (!this.#isShort(other)) this.#passedOver.delete(queue)
    }
    const full = [...this.#byParty.keys()].filter((party) => this.#isFull(party))
    return [...full, ...this.#passedOver.keys()]
  }

  #isShort(queue: string): boolean {
    if (this.#isFull(queue)) return true
    return isEntryQueue(queue)
      ? this.#entries >= entriesAtOnce
      : this.#isFull(identityOfQueue(queue))
  }

  #isFull(party: string, extra = 0): boolean {
    return (this.#byParty.get(party) ?? 0) >= this.#shareOfMax(party) + extra
  }

  #shareOfMax(party: string): number {
    if (isRepairQueue(party)) return repairsOfAccount
    if (isEntryQueue(party)) return 1
    return isQueue(party) ? Math.min(perQueueMax, this.#max) : Math.ceil(this.#max / 2)
  }

  #add(party: string, count: 1 | -1): void {
    const left = (this.#byParty.get(party) ?? 0) + count
    if (left === 0) this.#byParty.delete(party)
    else this.#byParty.set(party, left)
  }
}
