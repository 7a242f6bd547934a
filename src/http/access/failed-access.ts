/**
 * Wrong tokens and signatures, by the address they come from: told in the audit, and answered ever
 * more slowly.
 *
 * What must hold: the first of an address is told at once, for somebody may be looking for it.
 * Whoever guesses on can fill neither the audit nor our memory: then a minute has one row per
 * address and kind, for so many of them, and one per kind for all others. Only refusals are slowed
 * down: a right token from the same address never waits.
 */
import type { RefusedCredential } from '../../domain/audit.ts'
import type { Log } from '../../log.ts'
import type { Cancel, Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import type { Refusals, StorePart } from '../../store.ts'

const everyMs = 60_000
const addressesMax = 100
/** So many mistakes in a minute are answered at once. */
const freeMistakes = 10
const firstDelayMs = 50
const delayMsMax = 2000
/** More waiting refusals than this are answered at once, so that they cost no memory. */
const slowedMax = 1000

const otherAddresses = 'other addresses'

/** How often in this minute, and how many of those the audit knows of. */
interface Counted {
  readonly address: string
  readonly what: RefusedCredential
  readonly count: number
  readonly told: number
}

export class FailedAccess {
  readonly #store: StorePart<{ tokens: 'noteRefusals' }>
  readonly #scheduler: Scheduler
  readonly #log: Log
  readonly #counts = new Map<string, Counted>()
  /** To be told at once; what comes while that is written goes with the next. */
  #fresh: Refusals[] = []
  #telling: Promise<void> | null = null
  #cancelFlush: Cancel | null = null
  #slowed = 0

  constructor(store: StorePart<{ tokens: 'noteRefusals' }>, scheduler: Scheduler, log: Log) {
    this.#store = store
    this.#scheduler = scheduler
    this.#log = log
  }

  /** Resolves when the refusal may be answered. */
  async refused(client: string, what: RefusedCredential): Promise<void> {
    const isNamed = this.#counts.has(keyOf(what, client)) || this.#counts.size < addressesMax
    const address = isNamed ? client : otherAddresses
    const key = keyOf(what, address)
    const before = this.#counts.get(key)
    const count = (before?.count ?? 0) + 1
    this.#counts.set(key, { address, what, count, told: before?.told ?? 1 })
    if (before === undefined) this.#tellNow({ address, what, count: 1 })
    this.#flushLater()
    if (count <= freeMistakes || this.#slowed >= slowedMax) return
    const ms = Math.min(firstDelayMs * 2 ** (count - freeMistakes - 1), delayMsMax)
    this.#slowed += 1
    try {
      await delay(this.#scheduler, ms)
    } finally {
      this.#slowed -= 1
    }
  }

  /** Tells the audit; also when the server leaves. */
  async flush(): Promise<void> {
    this.#cancelFlush?.()
    this.#cancelFlush = null
    const refusals: Refusals[] = []
    for (const [key, { address, what, count, told }] of this.#counts) {
      if (count > told) {
        refusals.push({ address, what, count: count - told })
        // Who goes on is known for another minute, and told of at its end.
        this.#counts.set(key, { address, what, count: 0, told: 0 })
      } else this.#counts.delete(key)
    }
    if (this.#counts.size > 0) this.#flushLater()
    await this.#telling
    if (refusals.length > 0) await this.#tell(refusals)
  }

  #flushLater(): void {
    this.#cancelFlush ??= this.#scheduler.afterInBackground(everyMs, () => void this.flush())
  }

  #tellNow(refusal: Refusals): void {
    this.#fresh.push(refusal)
    this.#telling ??= this.#tellFresh()
  }

  async #tellFresh(): Promise<void> {
    while (this.#fresh.length > 0) await this.#tell(this.#fresh.splice(0))
    this.#telling = null
  }

  async #tell(refusals: readonly Refusals[]): Promise<void> {
    for (const each of refusals) this.#log.warn(each, 'Rejected a wrong token or signature')
    try {
      await this.#store.tokens.noteRefusals(refusals)
    } catch (error) {
      this.#log.error({ err: error }, 'Could not write rejected tokens and signatures to the audit')
    }
  }
}

const keyOf = (what: RefusedCredential, address: string): string => `${what} ${address}`
