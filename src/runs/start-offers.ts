/**
 * Starts the runs of claims on free executors of this process, in the transaction of their claims.
 * Otherwise each run would be written twice: as pending, and a moment later as leased.
 *
 *   its transaction begins ─ reserve a slot ─┬─ its run was taken ─▶ the executor begins
 *                                            └─ anything else ─────▶ the slot is free again
 *
 * What must hold: a slot that was reserved is used or free again, however the claim ends. It is
 * not reserved while the claim waits for others. If the store's answer is lost, a run that was
 * taken waits until its lease has ended.
 */
import type { Claim } from '../domain/claim.ts'
import type { LeaseGrant } from '../domain/run.ts'
import type { ClaimAnswer, ExecutorOffers, LeaseAnswer } from '../store.ts'

/** The executors of this process. */
export interface FreeExecutors {
  /** Keeps a slot of this type free. Null if none is free, or if other runs of the type wait. */
  reserve(type: string): ReservedSlot | null
}

export interface ReservedSlot {
  readonly worker: string
  /** The run was leased to this slot. */
  begin(leased: LeaseAnswer): void
  /** It was not. Does nothing after `begin`. */
  giveBack(): void
}

export class StartOffers implements ExecutorOffers {
  readonly #executors: FreeExecutors
  readonly #grant: (worker: string) => LeaseGrant
  /** By the hash of the lease. */
  readonly #offered = new Map<string, ReservedSlot>()

  constructor(executors: FreeExecutors, grant: (worker: string) => LeaseGrant) {
    this.#executors = executors
    this.#grant = grant
  }

  offer(claim: Claim): Claim {
    if (claim.lease !== null || claim.skipReason !== null) return claim
    const slot = this.#executors.reserve(claim.type)
    if (slot === null) return claim
    const executor = this.#grant(slot.worker)
    this.#offered.set(executor.hash, slot)
    return { ...claim, executor }
  }

  /** Call it after the commit. */
  begin({ taken }: ClaimAnswer): void {
    const hash = taken?.run.leaseHash ?? null
    if (taken === null || hash === null) return
    this.#offered.get(hash)?.begin(taken)
  }

  /** Call it also when the claims have been answered, or have failed. */
  withdraw(): void {
    for (const slot of this.#offered.values()) slot.giveBack()
    this.#offered.clear()
  }
}
