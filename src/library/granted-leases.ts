/**
 * The leases this instance was granted, by run key. A lease belongs to the gate that got it; a run
 * key alone says which lease is meant only while there is one it can mean.
 */
import { ConflictError } from '../errors.ts'
import type { KeptLease } from './kept-lease.ts'
import { RecentMap } from './recent-map.ts'

/** Of one key, the newest. */
const rememberedMax = 16

export class GrantedLeases {
  /** Renewed here; at most one of each key. */
  readonly #held = new Map<string, KeptLease>()
  /** Lately completed or lost, so that a late or repeated completion hears what became of it. */
  readonly #past = new RecentMap<readonly KeptLease[]>()

  add(key: string, lease: KeptLease): void {
    // An earlier lease of ours on this key is lost by this one, whether it has heard of it or not.
    this.#held.get(key)?.lose(takenHere(lease.runId))
    this.#held.set(key, lease)
  }

  /** It was completed or lost: nobody renews it any more. */
  retire(key: string, lease: KeptLease): void {
    if (this.#held.get(key) === lease) this.#held.delete(key)
    const others = (this.#past.get(key) ?? []).filter((other) => other !== lease)
    this.#past.set(key, [...others, lease].slice(-rememberedMax))
  }

  /**
   * The lease that a run key means; undefined when none was granted here. One that its holder has
   * finished with does not count beside another: nobody works under it any more.
   */
  meantBy(key: string, runKey: string, instead: string): KeptLease | undefined {
    const held = this.#held.get(key)
    const granted = [...(this.#past.get(key) ?? []), ...(held === undefined ? [] : [held])]
    const unfinished = granted.filter(({ isFinished }) => !isFinished)
    if (unfinished.length > 1) throw ambiguous(runKey, unfinished.length, instead)
    return unfinished[0] ?? granted.at(-1)
  }

  async letGo(): Promise<void> {
    await Promise.all([...this.#held.values()].map((lease) => lease.letGo()))
    this.#held.clear()
  }
}

function takenHere(runId: string): ConflictError {
  return new ConflictError('lease_lost', `run ${runId} was claimed again by this instance`, {
    hint: 'Stop working on it: nothing written with this lease will count.',
  })
}

function ambiguous(runKey: string, count: number, instead: string): ConflictError {
  const message = `${runKey} does not say which of ${count} leases of this instance is meant`
  return new ConflictError('ambiguous_lease', message, {
    hint: `Call ${instead} of the gate that let this work through.`,
  })
}
