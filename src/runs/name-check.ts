/**
 * Asks GitHub which repository has a name, while a caller waits for its claim. GitHub's answer is
 * stored. Each name is asked about once a minute at most, and only some names per minute, so a
 * caller in a loop does not use up our rate limit. Nobody waits long: a claim works without the
 * answer.
 */
import type { Clock } from '../clock.ts'
import { isStoreAway } from '../errors.ts'
import { learnRename } from '../learn-rename.ts'
import type { Log } from '../log.ts'
import { delay, type Scheduler } from '../scheduler.ts'
import type { StorePart } from '../store.ts'

export interface NameSource {
  /** `callersId` is the id that the caller gave. Rejects when GitHub cannot be asked now. */
  repositoryNamed(
    repo: string,
    callersId: number,
  ): Promise<{ readonly githubId: number; readonly name: string }>
}

export interface NameCheckOptions {
  readonly source: NameSource
  readonly store: StorePart<{ repositories: 'learn' }>
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly log: Log
}

const rememberedMs = 60_000
/** Names asked about in that time, by this process. */
const askedMax = 30
const waitMs = 5000

interface Question {
  readonly askedAt: number
  /** Null when GitHub did not answer. */
  answer: Promise<number | null>
}

export class NameCheck {
  readonly #options: NameCheckOptions
  /** Oldest first. */
  readonly #questions = new Map<string, Question>()
  readonly #stopping = new AbortController()

  constructor(options: NameCheckOptions) {
    this.#options = options
  }

  /** GitHub's id of the repository that the name leads to; null when it cannot be asked now. */
  async repositoryIdOf(name: string, callersId: number): Promise<number | null> {
    this.#forgetOld()
    const earlier = this.#questions.get(name)
    if (earlier !== undefined) return await earlier.answer
    if (this.#stopping.signal.aborted || this.#questions.size >= askedMax) return null
    return await this.#begin(name, callersId).answer
  }

  /** Callers that wait go on without an answer, and nothing more is stored. */
  stop(): void {
    this.#stopping.abort()
  }

  #begin(name: string, callersId: number): Question {
    const { clock, scheduler } = this.#options
    const asked = this.#ask(name, callersId)
    const answered = new AbortController()
    const limit = AbortSignal.any([answered.signal, this.#stopping.signal])
    const tooLate = delay(scheduler, waitMs, limit).then(() => null)
    const question: Question = {
      askedAt: clock.monotonicMs(),
      answer: Promise.race([asked, tooLate]),
    }
    asked
      // An answer that came too late for its caller is kept for the next one.
      .then(() => (question.answer = asked))
      // The store failed, not GitHub: the next caller asks again.
      .catch(() => this.#questions.delete(name))
      .finally(() => answered.abort())
    this.#questions.set(name, question)
    return question
  }

  async #ask(name: string, callersId: number): Promise<number | null> {
    const { source, store, log } = this.#options
    try {
      const named = await source.repositoryNamed(name, callersId)
      if (this.#stopping.signal.aborted) return null
      await learnRename(store, named.githubId, named.name, name, 'github')
      return named.githubId
    } catch (error) {
      if (isStoreAway(error)) throw error
      log.warn({ err: error, repo: name }, 'Could not ask GitHub which repository has this name')
      return null
    }
  }

  #forgetOld(): void {
    const since = this.#options.clock.monotonicMs() - rememberedMs
    for (const [name, { askedAt }] of this.#questions) {
      if (askedAt > since) return
      this.#questions.delete(name)
    }
  }
}
