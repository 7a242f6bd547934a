/**
 * Claims that arrive together, or while others are under way, are gathered and done in one
 * transaction with a fixed number of statements: one fsync and, on PostgreSQL, one set of round
 * trips for all of them. Nobody waits for a batch to fill: it leaves in the turn it began, or when
 * one under way comes back.
 *
 * What must hold: a batch has one claim per subject, claims of one subject keep their order, and a
 * claim that makes its batch fail takes no other claim down with it.
 */
import type { Claim } from '../domain/claim.ts'
import { StoreUnavailableError } from '../errors.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ClaimAnswer } from '../store.ts'
import { powerOfTwoWithin } from './sql.ts'
import type { BatchAnswer } from './verbs/claim-runs.ts'

/** Half of what usually waits: while one batch is in the database, the next is being made. */
const batchMax = 32
const underWayMax = 2

interface Waiting {
  readonly claim: Claim
  readonly resolve: (answer: ClaimAnswer) => void
  readonly reject: (error: unknown) => void
}

export class ClaimBatcher {
  readonly #claimRuns: (claims: readonly Claim[]) => Promise<readonly BatchAnswer[]>
  readonly #scheduler: Scheduler
  #queue: Waiting[] = []
  #underWay = 0
  readonly #subjectsUnderWay = new Set<string>()
  #planned = false
  readonly #drainers: (() => void)[] = []

  constructor(
    claimRuns: (claims: readonly Claim[]) => Promise<readonly BatchAnswer[]>,
    scheduler: Scheduler,
  ) {
    this.#claimRuns = claimRuns
    this.#scheduler = scheduler
  }

  claim(claim: Claim): Promise<ClaimAnswer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ claim, resolve, reject })
      this.#plan()
    })
  }

  /** Resolves when everybody who came has an answer. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drainers.push(resolve)
      this.#releaseDrainers()
    })
  }

  #releaseDrainers(): void {
    if (this.#queue.length > 0 || this.#subjectsUnderWay.size > 0) return
    for (const release of this.#drainers.splice(0)) release()
  }

  #plan(): void {
    if (this.#planned || this.#underWay >= underWayMax || this.#queue.length === 0) return
    this.#planned = true
    this.#scheduler.soon(() => {
      this.#planned = false
      const batch = this.#takeBatch()
      // Everything waits behind what is under way, whose return plans anew.
      if (batch.length === 0) return
      void this.#send(batch)
      this.#plan()
    })
  }

  /** The next claims in order, passing over subjects that are in it or under way already. */
  #takeBatch(): readonly Waiting[] {
    const taken = new Set(this.#subjectsUnderWay)
    const batch: Waiting[] = []
    this.#queue = this.#queue.filter((waiting) => {
      const subject = subjectOf(waiting.claim)
      if (batch.length >= batchMax || taken.has(subject)) return true
      taken.add(subject)
      batch.push(waiting)
      return false
    })
    // A size that other batches have too: see `inPieces`. The rest leads the next batch.
    const rest = batch.splice(powerOfTwoWithin(batch.length))
    this.#queue.unshift(...rest)
    return batch
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    for (const { claim } of batch) this.#subjectsUnderWay.add(subjectOf(claim))
    this.#underWay++
    try {
      const claims = batch.map(({ claim }) => claim)
      const answers = await this.#claimRuns(claims)
      const deferred = batch.filter((waiting, i) => !settle(waiting, answers[i]))
      this.#queue.unshift(...deferred)
      this.#leave(batch)
    } catch (error) {
      const hopeless = batch.length === 1 || error instanceof StoreUnavailableError
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
  async #sendAlone(waiting: Waiting): Promise<void> {
    try {
      const [answer] = await this.#claimRuns([waiting.claim])
      if (!settle(waiting, answer)) this.#queue.unshift(waiting)
    } catch (error) {
      waiting.reject(error)
    }
    this.#leave([waiting])
    this.#plan()
    this.#releaseDrainers()
  }

  #leave(batch: readonly Waiting[]): void {
    for (const { claim } of batch) this.#subjectsUnderWay.delete(subjectOf(claim))
  }
}

/** False when the claim has to be sent again. */
function settle(waiting: Waiting, answer: BatchAnswer | undefined): boolean {
  if (answer === undefined || answer === 'deferred') return false
  if (answer instanceof Error) waiting.reject(answer)
  else waiting.resolve(answer)
  return true
}

function subjectOf({ type, repo, subjectName }: Claim): string {
  return `${type} ${repo ?? ''} ${subjectName}`
}
