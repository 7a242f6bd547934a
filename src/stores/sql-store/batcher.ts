/**
 * Collects requests of one kind (claims, webhooks) that arrive together and does them in one
 * transaction with a fixed number of statements: one fsync and, on PostgreSQL, one set of round
 * trips for all. A batch never waits to be full. It is sent in the same turn of the event loop, or
 * when a turn brings no more requests (`gatherTurns`), or when a batch under way comes back. It may
 * wait longer only if nobody waits for the answer (`linger`).
 *
 * What must hold:
 *  - A batch has one request per key (for a claim: its subject), and requests of one key keep their
 *    order.
 *  - A request that makes its batch fail does not fail the others.
 *  - A request that waits for somebody else's lock does not delay the others: it is soon taken out
 *    of the batch and done alone.
 *  - The work per request does not grow with the number of waiting requests.
 */
import { StoreContendedError, StoreUnavailableError } from '../../errors.ts'
import type { Scheduler } from '../../scheduler.ts'
import { Fifo } from './fifo.ts'
import { laneOrder, type Lane, type LanePlace } from './lane.ts'
import { wholePieces } from '../sql.ts'

/** `deferred`: another request of this batch conflicts with it; ask again in the next batch. */
export type BatchAnswer<Answer> = Answer | Error | 'deferred'

interface Waiting<Request, Answer> {
  readonly request: Request
  readonly key: string
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

export interface BatcherOptions<Request, Answer> {
  /** `isAlone`: a single request outside the batches. It delays nobody, so it may take long. */
  readonly run: (
    requests: readonly Request[],
    isAlone: boolean,
  ) => Promise<readonly BatchAnswer<Answer>[]>
  readonly keyOf: (request: Request) => string
  readonly scheduler: Scheduler
  readonly batchMax: number
  /** Whether batches are cut to a few fixed sizes: see `wholePieces`. */
  readonly evenSizes: boolean
  /** How many batches may be in the database at a time. */
  readonly underWayMax: number
  /** How many turns of the event loop a batch may grow in, while each brings more. */
  readonly gatherTurns?: number
  /** Shared with others, whose transactions are not under way at the same time. */
  readonly lane?: Lane | undefined
  /** Where these requests come in the life of a run. */
  readonly lanePlace?: LanePlace
  /** If nobody waits for the answer: let other work go first and collect more requests. */
  readonly linger?: Linger
}

export interface Linger {
  readonly ms: number
  /** While this is true it waits again, `timesMax` times in all. */
  readonly while: () => boolean
  readonly timesMax: number
}

export class Batcher<Request, Answer extends object> {
  readonly #options: BatcherOptions<Request, Answer>
  /** Waiting requests by key. */
  readonly #lanes = new Map<string, Fifo<Waiting<Request, Answer>>>()
  #waiting = 0
  /** Keys with a waiting request and none under way, in two sets: `#first` goes first. */
  #first: ReadonlySet<string> = new Set()
  readonly #ready = new Set<string>()
  #underWay = 0
  readonly #keysUnderWay = new Set<string>()
  #planned = false
  readonly #drainers: (() => void)[] = []

  constructor(options: BatcherOptions<Request, Answer>) {
    this.#options = options
  }

  ask(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const key = this.#options.keyOf(request)
      this.#laneOf(key).push({ request, key, resolve, reject })
      this.#waiting++
      if (!this.#keysUnderWay.has(key) && !this.#first.has(key)) this.#ready.add(key)
      this.#plan()
    })
  }

  get isBusy(): boolean {
    return this.#waiting > 0 || this.#keysUnderWay.size > 0
  }

  /** Resolves when every request has an answer. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drainers.push(resolve)
      this.#releaseDrainers()
    })
  }

  #releaseDrainers(): void {
    if (this.isBusy) return
    for (const release of this.#drainers.splice(0)) release()
  }

  #plan(): void {
    const { underWayMax, linger, gatherTurns, scheduler, lane } = this.#options
    if (this.#planned || this.#underWay >= underWayMax || this.#waiting === 0) return
    this.#planned = true
    if (lane !== undefined) lane.wait(this.#options.lanePlace ?? laneOrder.begin, this.#leaveNow)
    else if (linger !== undefined) this.#lingerOn(linger, this.#leaveNow, 1)
    else if (gatherTurns === undefined) scheduler.soon(this.#leaveNow)
    else this.#gather(this.#leaveNow, this.#waiting, gatherTurns)
  }

  readonly #leaveNow = (): void => {
    this.#planned = false
    const batch = this.#takeBatch()
    // Every request waits for one under way; when that returns, it plans again.
    if (batch.length === 0) return
    void this.#send(batch)
    this.#plan()
  }

  /** Waits as long as every turn of the event loop brings more requests. */
  #gather(leave: () => void, before: number, turnsLeft: number): void {
    const { scheduler, batchMax } = this.#options
    scheduler.soon(() => {
      const now = this.#waiting
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

  /** The next ones in order, one of each key that is not under way. */
  #takeBatch(): readonly Waiting<Request, Answer>[] {
    const { batchMax, evenSizes } = this.#options
    const batch: Waiting<Request, Answer>[] = []
    for (const key of this.#nextKeys(batchMax)) {
      const waiting = this.#laneOf(key).take()
      if (waiting !== undefined) batch.push(waiting)
    }
    this.#waiting -= batch.length
    for (const { key } of batch) this.#keysUnderWay.add(key)
    // The requests that are cut off come first in the next batch.
    if (evenSizes) this.#return(batch.splice(wholePieces(batch.length)))
    return batch
  }

  #nextKeys(most: number): readonly string[] {
    const first = [...this.#first]
    const keys = first.slice(0, most)
    this.#first = new Set(first.slice(most))
    for (const key of this.#ready) {
      if (keys.length >= most) break
      this.#ready.delete(key)
      keys.push(key)
    }
    return keys
  }

  #laneOf(key: string): Fifo<Waiting<Request, Answer>> {
    let lane = this.#lanes.get(key)
    if (lane === undefined) {
      lane = new Fifo()
      this.#lanes.set(key, lane)
    }
    return lane
  }

  /** Puts them first in their lanes and in the next batch. */
  #return(taken: readonly Waiting<Request, Answer>[]): void {
    for (const waiting of taken) {
      this.#laneOf(waiting.key).putBack(waiting)
      this.#keysUnderWay.delete(waiting.key)
    }
    this.#waiting += taken.length
    this.#first = new Set([...taken.map(({ key }) => key), ...this.#first])
  }

  async #send(batch: readonly Waiting<Request, Answer>[]): Promise<void> {
    this.#underWay++
    const leaveLane = this.#options.lane?.take()
    try {
      const answers = await this.#options.run(
        batch.map(({ request }) => request),
        false,
      )
      const deferred = batch.filter((waiting, i) => !answerWaiting(waiting, answers[i]))
      this.#leave(batch.filter((waiting) => !deferred.includes(waiting)))
      this.#return(deferred)
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
    leaveLane?.()
    this.#plan()
    this.#releaseDrainers()
  }

  /** Outside the batches, so that a lock that one request waits for delays no other. */
  async #sendAlone(waiting: Waiting<Request, Answer>): Promise<void> {
    try {
      const [answer] = await this.#options.run([waiting.request], true)
      if (answerWaiting(waiting, answer)) this.#leave([waiting])
      else this.#return([waiting])
    } catch (error) {
      waiting.reject(error)
      this.#leave([waiting])
    }
    this.#plan()
    this.#releaseDrainers()
  }

  #leave(batch: readonly Waiting<Request, Answer>[]): void {
    for (const { key } of batch) {
      this.#keysUnderWay.delete(key)
      if (this.#laneOf(key).length > 0) this.#ready.add(key)
      else this.#lanes.delete(key)
    }
  }
}

/** False when it has to be sent again. */
function answerWaiting<Answer extends object>(
  waiting: Waiting<unknown, Answer>,
  answer: BatchAnswer<Answer> | undefined,
): boolean {
  if (answer === undefined || answer === 'deferred') return false
  if (answer instanceof Error) waiting.reject(answer)
  else waiting.resolve(answer)
  return true
}
