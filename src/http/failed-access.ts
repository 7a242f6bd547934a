/**
 * Wrong tokens and signatures, by the address they come from: told in the audit, and answered ever
 * more slowly.
 *
 * What must hold: whoever guesses can fill neither the audit nor our memory: a minute has one row
 * per address and kind, for so many of them, and one per kind for all others. Only refusals are
 * slowed down: a right token from the same address never waits.
 */
import type { RefusedCredential } from '../domain/audit.ts'
import type { Log } from '../log.ts'
import type { Cancel, Scheduler } from '../scheduler.ts'
import { delay } from '../scheduler.ts'
import type { Refusals, TokenStore } from '../token-store.ts'

const everyMs = 60_000
const addressesMax = 100
/** So many mistakes in a minute are answered at once. */
const freeMistakes = 10
const firstDelayMs = 50
const delayMsMax = 2000
/** More waiting refusals than this are answered at once, so that they cost no memory. */
const slowedMax = 1000

const otherAddresses = 'other addresses'

export class FailedAccess {
  readonly #store: Pick<TokenStore, 'noteRefusals'>
  readonly #scheduler: Scheduler
  readonly #log: Log
  readonly #counts = new Map<string, Refusals>()
  #cancelFlush: Cancel | null = null
  #slowed = 0

  constructor(store: Pick<TokenStore, 'noteRefusals'>, scheduler: Scheduler, log: Log) {
    this.#store = store
    this.#scheduler = scheduler
    this.#log = log
  }

  /** Resolves when the refusal may be answered. */
  async refused(client: string, what: RefusedCredential): Promise<void> {
    const isNamed = this.#counts.has(keyOf(what, client)) || this.#counts.size < addressesMax
    const address = isNamed ? client : otherAddresses
    const key = keyOf(what, address)
    const count = (this.#counts.get(key)?.count ?? 0) + 1
    this.#counts.set(key, { address, what, count })
    this.#cancelFlush ??= this.#scheduler.afterInBackground(everyMs, () => void this.flush())
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
    const refusals = [...this.#counts.values()]
    this.#counts.clear()
    if (refusals.length === 0) return
    for (const each of refusals) this.#log.warn(each, 'refused wrong credentials')
    try {
      await this.#store.noteRefusals(refusals)
    } catch (error) {
      this.#log.error({ err: error }, 'could not audit refused credentials')
    }
  }
}

const keyOf = (what: RefusedCredential, address: string): string => `${what} ${address}`
