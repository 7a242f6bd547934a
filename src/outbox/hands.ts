/**
 * How much of this process one party may have in hand. A hand is busy for as long as a request
 * takes: whoever has many due, or is answered slowly, must leave some to the others. Progress
 * leaves some to creates and ends, queues to what is new, and all of them to reads that repair.
 */
import { isQueue, isRepair, priorities, queueName } from '../domain/outbox/queue.ts'
import type { LeasedDelivery, LeaseRoom } from '../outbox-store.ts'

const atOnceDefault = 6
const repairsAtOnce = 2
const perQueueMax = 2

export type Release = () => void

export class Hands {
  readonly #max: number
  readonly #byParty = new Map<string, number>()
  #taken = 0
  #progress = 0
  #queued = 0
  #repairs = 0

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
    return { limit, progressMax, queuedMax, repairsMax, full: this.#full() }
  }

  take({ delivery, wasQueued }: LeasedDelivery): Release {
    const isRepairing = isRepair(delivery)
    const progress = !isRepairing && delivery.priority === priorities.progress ? 1 : 0
    const queued = wasQueued ? 1 : 0
    const add = (sign: 1 | -1): void => {
      if (isRepairing) this.#repairs += sign
      else this.#taken += sign
      this.#progress += sign * progress
      this.#queued += sign * queued
    }
    add(1)
    return () => add(-1)
  }

  /** Null when that identity has its share already, or that channel of it. */
  share(identity: string, channel: string): Release | null {
    const queue = queueName(identity, channel)
    if (this.#isFull(identity) || this.#isFull(queue)) return null
    this.#add(identity, 1)
    this.#add(queue, 1)
    return () => {
      this.#add(identity, -1)
      this.#add(queue, -1)
    }
  }

  #full(): string[] {
    return [...this.#byParty.keys()].filter((party) => this.#isFull(party))
  }

  #isFull(party: string): boolean {
    const max = isQueue(party) ? Math.min(perQueueMax, this.#max) : Math.ceil(this.#max / 2)
    return (this.#byParty.get(party) ?? 0) >= max
  }

  #add(party: string, count: 1 | -1): void {
    const left = (this.#byParty.get(party) ?? 0) + count
    if (left === 0) this.#byParty.delete(party)
    else this.#byParty.set(party, left)
  }
}
