/**
 * Counts wrong tokens and signatures by address, writes them to the audit, and delays the answers
 * more and more.
 *
 * What must hold: the first one from an address is written at once, because somebody may be looking
 * for it. Guessing can fill neither the audit nor the memory: after that, a minute has at most one
 * row per address and kind for `addressesMax` addresses, and one per kind for all others. Only
 * refusals are delayed: a valid token from the same address never waits.
 */
import type { RefusedCredential } from '../../domain/audit.ts'
import type { Log } from '../../log.ts'
import type { Cancel, Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import type { Refusals, StorePart } from '../../store.ts'

const everyMs = 60_000
const addressesMax = 100
/** This many mistakes per minute are answered without a delay. */
const freeMistakes = 10
const firstDelayMs = 50
const delayMsMax = 2000
/** If more refusals than this are waiting, the next are answered at once, to save memory. */
const slowedMax = 1000

const otherAddresses = 'other addresses'

interface Counted {
  readonly address: string
  readonly what: RefusedCredential
  /** In this minute. */
  readonly count: number
  /** How many of them the audit has. */
  readonly recorded: number
}

export class FailedAccess {
  readonly #store: StorePart<{ tokens: 'noteRefusals' }>
  readonly #scheduler: Scheduler
  readonly #log: Log
  readonly #counts = new Map<string, Counted>()
  /** To be written at once. Those that come during a write are written together after it. */
  #urgent: Refusals[] = []
  #recording: Promise<void> | null = null
  #cancelFlush: Cancel | null = null
  #slowed = 0

  constructor(store: StorePart<{ tokens: 'noteRefusals' }>, scheduler: Scheduler, log: Log) {
    this.#store = store
    this.#scheduler = scheduler
    this.#log = log
  }

  /** Resolves when the refusal may be sent to the client. */
  async refused(client: string, what: RefusedCredential): Promise<void> {
    const isNamed = this.#counts.has(keyOf(what, client)) || this.#counts.size < addressesMax
    const address = isNamed ? client : otherAddresses
    const key = keyOf(what, address)
    const before = this.#counts.get(key)
    const count = (before?.count ?? 0) + 1
    this.#counts.set(key, { address, what, count, recorded: before?.recorded ?? 1 })
    if (before === undefined) this.#recordNow({ address, what, count: 1 })
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

  /** Writes the counts to the audit: every minute, and when the server stops. */
  async flush(): Promise<void> {
    this.#cancelFlush?.()
    this.#cancelFlush = null
    const refusals: Refusals[] = []
    for (const [key, { address, what, count, recorded }] of this.#counts) {
      if (count > recorded) {
        refusals.push({ address, what, count: count - recorded })
        // An address that continues is counted for another minute and written at its end.
        this.#counts.set(key, { address, what, count: 0, recorded: 0 })
      } else this.#counts.delete(key)
    }
    if (this.#counts.size > 0) this.#flushLater()
    await this.#recording
    if (refusals.length > 0) await this.#record(refusals)
  }

  #flushLater(): void {
    this.#cancelFlush ??= this.#scheduler.afterInBackground(everyMs, () => void this.flush())
  }

  #recordNow(refusal: Refusals): void {
    this.#urgent.push(refusal)
    this.#recording ??= this.#recordUrgent()
  }

  async #recordUrgent(): Promise<void> {
    while (this.#urgent.length > 0) await this.#record(this.#urgent.splice(0))
    this.#recording = null
  }

  async #record(refusals: readonly Refusals[]): Promise<void> {
    for (const each of refusals) this.#log.warn(each, 'Rejected a wrong token or signature')
    try {
      await this.#store.tokens.noteRefusals(refusals)
    } catch (error) {
      this.#log.error({ err: error }, 'Could not write rejected tokens and signatures to the audit')
    }
  }
}

const keyOf = (what: RefusedCredential, address: string): string => `${what} ${address}`
