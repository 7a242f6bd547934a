/**
 * The leases that this instance got, by run key. A lease belongs to the gate that got it. A run key
 * alone names a lease only if this instance got exactly one lease for it.
 *
 * What must hold: forgetting never makes two leases look like one. Keys without a held lease are
 * forgotten when there are too many. After that, a lease that is not the first of its run may be
 * the second of this instance. So it counts as two, and its key alone names neither.
 */
import { ConflictError } from '../errors.ts'
import type { KeptLease } from '../runs/kept-lease.ts'
import { RecentMap } from '../recent-map.ts'

interface Granted {
  readonly leases: number
  /** Gates that failed open, so they have no lease, and that are not completed yet. */
  readonly unclaimed: number
  /** The newest lease. */
  readonly lease: KeptLease | null
}

const nothing: Granted = { leases: 0, unclaimed: 0, lease: null }

export const heldKey = (type: string, runKey: string): string => `${type} ${runKey}`

export class GrantedLeases {
  /** The leases that are being renewed, at most one for each key. None of these is forgotten. */
  readonly #held = new Map<string, Granted & { readonly lease: KeptLease }>()
  /** Includes completed and lost leases, so that a repeated `complete` gets the same answer. */
  readonly #granted = new RecentMap<Granted>()

  add(key: string, lease: KeptLease): void {
    const before = this.#of(key)
    const mayBeForgotten = before.leases === 0 && !lease.isFirst && this.#granted.hasForgotten
    const leases = before.leases + (mayBeForgotten ? 2 : 1)
    // Answers can arrive out of order: in the store, the lease with the higher fence is valid.
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

  /** Returns false if no gate of this key failed open. */
  endUnclaimed(key: string): boolean {
    const before = this.#of(key)
    if (before.unclaimed === 0) return false
    this.#set(key, { ...before, unclaimed: before.unclaimed - 1 })
    return true
  }

  /** The lease was completed or lost, so it is no longer renewed. */
  retire(key: string, lease: KeptLease): void {
    if (this.#held.get(key)?.lease === lease) this.#held.delete(key)
  }

  /** Returns undefined if the run key has no lease. Throws if it has several. */
  leaseOf(key: string, runKey: string, instead: string): KeptLease | undefined {
    const { leases, unclaimed, lease } = this.#of(key)
    if (leases + unclaimed > 1) throw ambiguous(runKey, instead)
    return lease ?? undefined
  }

  isUnclaimed(key: string): boolean {
    return this.#of(key).unclaimed > 0
  }

  /** The types that this instance claimed the run key with, as far as it remembers. */
  typesOf(runKey: string): readonly string[] {
    const keys = new Set([...this.#held.keys(), ...this.#granted.keys()])
    const types = new Set([...keys].map((key) => key.slice(0, key.indexOf(' '))))
    return [...types].filter((type) => keys.has(heldKey(type, runKey)))
  }

  /** Closes every lease. `why` is the reason on the signal of each gate. */
  async closeAll(why: ConflictError): Promise<void> {
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

interface Call {
  /** The call, with its argument for the type. */
  readonly withType: (type: string) => string
  readonly hint: string
}

const calls = {
  completeRun: {
    withType: (type) => `completeRun(runKey, ${type})`,
    hint: 'Complete a run in the instance that claimed it, before close().',
  },
  reportRunStatus: {
    withType: (type) => `reportRunStatus(runKey, status, ${type})`,
    hint: 'Report on a run in the instance that claimed it, before it is completed.',
  },
} as const satisfies Readonly<Record<string, Call>>

/** The error if this instance has no run with this key and type. `types` are those it claimed. */
export function notHeld(
  call: keyof typeof calls,
  { runKey, type }: { readonly runKey: string; readonly type: string },
  types: readonly string[],
): ConflictError {
  const { withType, hint } = calls[call]
  const others = types.filter((other) => other !== type)
  if (others.length === 0) {
    const message = `This instance does not hold a run with the key ${runKey}`
    return new ConflictError('lease_lost', message, { hint })
  }
  const message = `${runKey} was claimed here with the type ${others.join(' and ')}, not ${type}`
  const remedies = others.map((other) => withType(`{ type: '${other}' }`))
  return new ConflictError('lease_lost', message, {
    hint: `Name the type: ${remedies.join(' or ')}.`,
  })
}
