/**
 * The leases this instance was granted, by run key. A lease belongs to the gate that got it; a run
 * key alone says which lease is meant only while this instance was granted a single one on it.
 *
 * What must hold: forgetting never turns two leases into one. What is known of a key that is not
 * held is forgotten at some time; from then on a lease that is not the first of its run may be the
 * second of this instance, and its key alone means neither.
 */
import { ConflictError } from '../errors.ts'
import type { KeptLease } from './kept-lease.ts'
import { RecentMap } from './recent-map.ts'

interface Granted {
  readonly leases: number
  /** Let through without a lease, because the store could not be reached, and not done yet. */
  readonly unclaimed: number
  /** The newest. */
  readonly lease: KeptLease | null
}

const nothing: Granted = { leases: 0, unclaimed: 0, lease: null }

export const heldKey = (type: string, runKey: string): string => `${type} ${runKey}`

export class GrantedLeases {
  /** Renewed here; at most one of each key. Of these nothing is forgotten. */
  readonly #held = new Map<string, Granted & { readonly lease: KeptLease }>()
  /** Also of those that are completed or lost, so that a repeated completion is answered. */
  readonly #granted = new RecentMap<Granted>()

  add(key: string, lease: KeptLease): void {
    const before = this.#of(key)
    const mayBeForgotten = before.leases === 0 && !lease.isFirst && this.#granted.hasForgotten
    const leases = before.leases + (mayBeForgotten ? 2 : 1)
    // Answers can cross: the store holds to the lease with the higher fence.
    const isOlder = before.lease !== null && before.lease.fence > lease.fence
    this.#set(key, { ...before, leases, lease: isOlder ? before.lease : lease })
    if (isOlder) lease.lose(takenHere(lease.runId))
    else {
      const replaced = this.#held.get(key)?.lease
      this.#held.set(key, { ...before, leases, lease })
      replaced?.lose(takenHere(lease.runId))
    }
  }

  addUnclaimed(key: string): void {
    const before = this.#of(key)
    this.#set(key, { ...before, unclaimed: before.unclaimed + 1 })
  }

  /** False when nobody works under this key without a lease. */
  endUnclaimed(key: string): boolean {
    const before = this.#of(key)
    if (before.unclaimed === 0) return false
    this.#set(key, { ...before, unclaimed: before.unclaimed - 1 })
    return true
  }

  /** It was completed or lost: nobody renews it any more. */
  retire(key: string, lease: KeptLease): void {
    if (this.#held.get(key)?.lease === lease) this.#held.delete(key)
  }

  /** The lease that a run key means; undefined where it means work without one, or none at all. */
  meantBy(key: string, runKey: string, instead: string): KeptLease | undefined {
    const { leases, unclaimed, lease } = this.#of(key)
    if (leases + unclaimed > 1) throw ambiguous(runKey, instead)
    return lease ?? undefined
  }

  isUnclaimed(key: string): boolean {
    return this.#of(key).unclaimed > 0
  }

  /** The types under which this instance let work on the run key through, as far as remembered. */
  typesOf(runKey: string): readonly string[] {
    const keys = new Set([...this.#held.keys(), ...this.#granted.keys()])
    const types = new Set([...keys].map((key) => key.slice(0, key.indexOf(' '))))
    return [...types].filter((type) => keys.has(heldKey(type, runKey)))
  }

  /** Of all; `why` is what those who work under them are told. */
  async letGo(why: ConflictError): Promise<void> {
    await Promise.all([...this.#held.values()].map(({ lease }) => lease.close(why)))
    this.#held.clear()
  }

  #of(key: string): Granted {
    return this.#granted.get(key) ?? this.#held.get(key) ?? nothing
  }

  #set(key: string, granted: Granted): void {
    this.#granted.set(key, granted)
    const held = this.#held.get(key)
    if (held !== undefined) this.#held.set(key, { ...granted, lease: held.lease })
  }
}

function takenHere(runId: string): ConflictError {
  return new ConflictError('lease_lost', `run ${runId} was claimed again by this instance`, {
    hint: 'Stop working on it: results sent with this lease are ignored.',
  })
}

function ambiguous(runKey: string, instead: string): ConflictError {
  const message = `${runKey} does not say which lease is meant: this instance was granted several`
  return new ConflictError('ambiguous_lease', message, {
    hint: `Call ${instead} of the gate that let this work through.`,
  })
}
