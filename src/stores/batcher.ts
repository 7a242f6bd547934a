/**
 * Requests of one kind (claims, webhooks) that arrive together, or while others are under way, are
 * gathered and done in one transaction with a fixed number of statements: one fsync and, on
 * PostgreSQL, one set of round trips for all of them. Nobody waits for a batch to fill: it leaves
 * in the turn it began, when a turn brings no more (`gatherTurns`), or when one under way comes
 * back. Only where nobody waits for the answer may it linger.
 *
 * What must hold: a batch has one request per key (a claim's is its subject), requests of one key
 * keep their order, one that makes its batch fail takes no other down with it, and one that others
 * hold up holds up nobody else: it is soon taken out of the batches and done beside them.
 */
import { StoreContendedError, StoreUnavailableError } from '../errors.ts'
import type { Scheduler } from '../scheduler.ts'
import { wholePieces } from './sql.ts'

/** `deferred`: another of this batch stands in its way; ask again in the next one. */
export type BatchAnswer<Answer> = Answer | Error | 'deferred'

interface Waiting<Request, Answer> {
  readonly request: Request
  readonly key: string
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

export interface BatcherOptions<Request, Answer> {
  /** `beside`: it holds nobody up and may take its time; else it has to be soon out of the way. */
  readonly run: (
    requests: readonly Request[],
    beside: boolean,
  ) => Promise<readonly BatchAnswer<Answer>[]>
  readonly keyOf: (request: Request) => string
  readonly scheduler: Scheduler
  readonly batchMax: number
  /** Whether a batch is cut to a size that other batches have too: see `wholePieces`. */
  readonly evenSizes: boolean
  /** How many may be in the database at once: while one is, the next is being made. */
  readonly underWayMax: number
  /** How many turns of the event loop a batch may grow in, while each brings more. */
  readonly gatherTurns?: number
  /** Where nobody waits for the answer: let others go first, and more come together. */
  readonly linger?: Linger
}

export interface Linger {
  readonly ms: number
  /** While this holds it lingers on, `timesMax` times in all. */
  readonly while: () => boolean
  readonly timesMax: number
}

export class Batcher<Request, Answer extends object> {
  readonly #options: BatcherOptions<Request, Answer>
  #queue: Waiting<Request, Answer>[] = []
  #underWay = 0
  readonly #keysUnderWay = new Set<string>()
  #planned = false
  readonly #drainers: (() => void)[] = []

  constructor(options: BatcherOptions<Request, Answer>) {
    this.#options = options
  }

  ask(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, key: this.#options.keyOf(request), resolve, reject })
      this.#plan()
    })
  }

  get isBusy(): boolean {
    return this.#queue.length > 0 || this.#keysUnderWay.size > 0
  }

  /** Resolves when everybody who came has an answer. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drainers.push(resolve)
      this.#releaseDrainers()
    })
  }

  #releaseDrainers(): void {
    if (this.#queue.length > 0 || this.#keysUnderWay.size > 0) return
    for (const release of this.#drainers.splice(0)) release()
  }

  #plan(): void {
    const { underWayMax, linger, gatherTurns, scheduler } = this.#options
    if (this.#planned || this.#underWay >= underWayMax || this.#queue.length === 0) return
    this.#planned = true
    const leave = (): void => {
      this.#planned = false
      const batch = this.#takeBatch()
      // Everything waits behind what is under way, whose return plans anew.
      if (batch.length === 0) return
      void this.#send(batch)
      this.#plan()
    }
    if (linger !== undefined) this.#lingerOn(linger, leave, 1)
    else if (gatherTurns === undefined) scheduler.soon(leave)
    else this.#gather(leave, this.#queue.length, gatherTurns)
  }

  /** For as long as every turn of the event loop brings more. */
  #gather(leave: () => void, before: number, turnsLeft: number): void {
    const { scheduler, batchMax } = this.#options
    scheduler.soon(() => {
      const now = this.#queue.length
      if (now === before || now >= batchMax || turnsLeft <= 1) leave()
      else this.#gather(leave, now, turnsLeft - 1)
    })
  }

  #lingerOn(linger: Linger, leave: () => void, times: number): void {
    this.#options.scheduler.after(linger.ms, () => {
      if (times < linger.timesMax && linger.while()) this.#lingerOn(linger, leave, times + 1)
      else leave()
    })
  }

  /** The next ones in order, passing over keys that are in it or under way already. */
  #takeBatch(): readonly Waiting<Request, Answer>[] {
    const { batchMax, evenSizes } = this.#options
    const taken = new Set(this.#keysUnderWay)
    const batch: Waiting<Request, Answer>[] = []
    this.#queue = this.#queue.filter((waiting) => {
      if (batch.length >= batchMax || taken.has(waiting.key)) return true
      taken.add(waiting.key)
      batch.push(waiting)
      return false
    })
    // What is cut off leads the next batch.
    if (evenSizes) this.#queue.unshift(...batch.splice(wholePieces(batch.length)))
    return batch
  }

  async #send(batch: readonly Waiting<Request, Answer>[]): Promise<void> {
    for (const { key } of batch) this.#keysUnderWay.add(key)
    this.#underWay++
    try {
      const answers = await this.#options.run(
        batch.map(({ request }) => request),
        false,
      )
      const deferred = batch.filter((waiting, i) => !settle(waiting, answers[i]))
      this.#queue.unshift(...deferred)
      this.#leave(batch)
    } catch (error) {
      const isHeldUp = error instanceof StoreContendedError && error.code === 'store_contended'
      const isAway = error instanceof StoreUnavailableError
      const hopeless = isAway || (batch.length === 1 && !isHeldUp)
      for (const waiting of batch) {
        if (hopeless) waiting.reject(error)
        else void this.#sendAlone(waiting)
      }
      if (hopeless) this.#leave(batch)
    }
    this.#underWay--
    this.#plan()
    this.#releaseDrainers()
  }

  /** Beside the batches, so that whoever holds one up holds nobody else up. */
  async #sendAlone(waiting: Waiting<Request, Answer>): Promise<void> {
    try {
      const [answer] = await this.#options.run([waiting.request], true)
      if (!settle(waiting, answer)) this.#queue.unshift(waiting)
    } catch (error) {
      waiting.reject(error)
    }
    this.#leave([waiting])
    this.#plan()
    this.#releaseDrainers()
  }

  #leave(batch: readonly Waiting<Request, Answer>[]): void {
    for (const { key } of batch) this.#keysUnderWay.delete(key)
  }
}

/** False when it has to be sent again. */
function settle<Answer extends object>(
  waiting: Waiting<unknown, Answer>,
  answer: BatchAnswer<Answer> | undefined,
): boolean {
  if (answer === undefined || answer === 'deferred') return false
  if (answer instanceof Error) waiting.reject(answer)
  else waiting.resolve(answer)
  return true
}
