/**
 * The word that runs have lost their holders: to the listener of this process at once, and over
 * Redis to all others.
 */
import type { EngineListener } from '../../engine.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { QueueNames } from './names.ts'
import type { RedisLink } from './redis-link.ts'

export interface LostWordsOptions {
  readonly link: RedisLink
  readonly names: QueueNames
  readonly scheduler: Scheduler
  readonly processId: string
}

/** Redis keeps a message for every process that reads slowly, so one is not too long. */
const idsPerMessage = 500
/** Redis may take seconds to answer, and what is not answered stays in memory. */
const unansweredMax = 100

export class LostWords {
  readonly #options: LostWordsOptions
  #listener: EngineListener | null = null
  #unanswered = 0

  constructor(options: LostWordsOptions) {
    this.#options = options
  }

  /** `types` are those whose wake-ups this process takes. Announcers ask Redis who does. */
  listen(types: readonly string[], listener: EngineListener): void {
    const { link, names } = this.#options
    this.#listener = listener
    const presence = types.map((type) => names.presenceChannel(type))
    link.subscribe([names.lostChannel, ...presence], (channel, text) => {
      if (channel === names.lostChannel) this.#receive(text)
    })
  }

  send(runIds: readonly string[]): void {
    const { link, names, scheduler, processId } = this.#options
    if (runIds.length === 0) return
    scheduler.soon(() => this.#listener?.runsLost(runIds))
    for (let at = 0; at < runIds.length; at += idsPerMessage) {
      if (!link.isUp || this.#unanswered >= unansweredMax) return
      this.#unanswered += 1
      const message = { from: processId, runs: runIds.slice(at, at + idsPerMessage) }
      link.client
        .publish(names.lostChannel, JSON.stringify(message))
        .catch((error: unknown) => link.refused(error))
        .finally(() => (this.#unanswered -= 1))
    }
  }

  stop(): void {
    this.#listener = null
  }

  #receive(text: string): void {
    const runIds = otherRuns(text, this.#options.processId)
    if (runIds.length > 0) this.#listener?.runsLost(runIds)
  }
}

/** The runs in a message of another process. Anybody can write to Redis, so anything may come. */
function otherRuns(text: string, ownId: string): readonly string[] {
  try {
    const { from, runs } = JSON.parse(text) as { from?: unknown; runs?: unknown }
    if (from === ownId || !Array.isArray(runs)) return []
    return runs.filter((id) => typeof id === 'string')
  } catch {
    return []
  }
}
