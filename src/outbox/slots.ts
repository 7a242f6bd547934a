/**
 * How many slots of this process one party may use. A slot is busy for as long as a request takes.
 * A party with many due deliveries, or with slow answers, must leave slots to the others. Progress
 * leaves slots to creates and final versions, queues leave slots to new deliveries, and all of them
 * leave slots to reads that repair.
 */
import {
  identityOfQueue,
  isEntryQueue,
  isQueue,
  isRepair,
  isRepairQueue,
  priorities,
  queueName,
  wasJustLookedFor,
} from '../domain/outbox/queue.ts'
import type { Delivery } from '../domain/outbox/delivery.ts'
import type { LeasedDelivery, LeaseRoom } from '../store/outbox-store.ts'

const atOnceDefault = 6
const repairsAtOnce = 4
/** One less than all repairs, so that one slot is always left for repairs that are in no queue. */
const repairsQueuedMax = 3
const repairsPerAccount = 2
/** Deliveries that ask for our identity. The question may hang, so each account has only one. */
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
  /** Queues that are skipped, each with the queue that has no slot for its deliveries. */
  readonly #passedOver = new Map<string, string>()

  constructor(max = atOnceDefault) {
    this.#max = max
  }

  /** Returns null if no slot is free. */
  room(): Required<Omit<LeaseRoom, 'runId'>> | null {
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

  /** For the two queues of an account. Returns null if the account already has its share. */
  takeForAccount(queue: string): Release | null {
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
   * Returns null if the identity, or this channel of it, already has its share. A delivery with a
   * fresh look may have one more slot: if it had to wait, it would need a new look.
   */
  takeForIdentity(identity: string, delivery: Delivery): Release | null {
    const extra = wasJustLookedFor(delivery) ? 1 : 0
    const queue = queueName(identity, delivery.channel)
    if (this.#isFull(identity, extra) || this.#isFull(queue, extra)) return null
    this.#add(identity, 1)
    this.#add(queue, 1)
    return () => {
      this.#add(identity, -1)
      this.#add(queue, -1)
    }
  }

  /** Nothing more is taken from `queue` until `other` has a free slot. */
  passOver(queue: string, other: string): void {
    this.#passedOver.set(queue, other)
  }

  #full(): string[] {
    for (const [queue, other] of this.#passedOver) {
      if (!this.#hasNoSlotFor(other)) this.#passedOver.delete(queue)
    }
    const full = [...this.#byParty.keys()].filter((party) => this.#isFull(party))
    return [...full, ...this.#passedOver.keys()]
  }

  #hasNoSlotFor(queue: string): boolean {
    if (this.#isFull(queue)) return true
    return isEntryQueue(queue)
      ? this.#entries >= entriesAtOnce
      : this.#isFull(identityOfQueue(queue))
  }

  #isFull(party: string, extra = 0): boolean {
    return (this.#byParty.get(party) ?? 0) >= this.#slotsMax(party) + extra
  }

  #slotsMax(party: string): number {
    if (isRepairQueue(party)) return repairsPerAccount
    if (isEntryQueue(party)) return 1
    return isQueue(party) ? Math.min(perQueueMax, this.#max) : Math.ceil(this.#max / 2)
  }

  #add(party: string, count: 1 | -1): void {
    const left = (this.#byParty.get(party) ?? 0) + count
    if (left === 0) this.#byParty.delete(party)
    else this.#byParty.set(party, left)
  }
}
