/**
 * Puts wake-ups into the queues of their types.
 *
 * What must hold: what waits here and in Redis is bounded, so a wake-up is dropped while Redis is
 * away, if no process listens for its type, and if enough of that type wait already. The store has
 * the run, and whoever looks there finds it.
 */
import { Queue } from 'bullmq'
import { waitingMax, type WakeUp } from '../../engine.ts'
import type { Scheduler } from '../../scheduler.ts'
import { jobIdOf, type QueueNames } from './names.ts'
import type { RedisLink } from './redis-link.ts'

export interface AnnouncerOptions {
  readonly link: RedisLink
  readonly names: QueueNames
  readonly scheduler: Scheduler
}

/** Of all types, while the ones before are being sent. */
const pendingMax = 10_000

export class Announcer {
  readonly #options: AnnouncerOptions
  readonly #queues = new Map<string, Queue>()
  /** By type, the ids of the jobs to add. */
  #pending = new Map<string, Set<string>>()
  #pendingCount = 0
  #isSending = false

  constructor(options: AnnouncerOptions) {
    this.#options = options
  }

  announce(wakeUps: readonly WakeUp[]): void {
    const { link, scheduler } = this.#options
    if (!link.isUp) return
    for (const wakeUp of wakeUps) this.#add(wakeUp)
    if (this.#isSending || this.#pendingCount === 0) return
    this.#isSending = true
    // What is announced in the same turn is sent together.
    scheduler.soon(() => void this.#sendAll())
  }

  #add(wakeUp: WakeUp): void {
    if (this.#pendingCount >= pendingMax) return
    const ids = this.#pending.get(wakeUp.type) ?? new Set()
    this.#pending.set(wakeUp.type, ids)
    if (ids.size >= waitingMax) return
    this.#pendingCount += 1
    ids.add(jobIdOf(wakeUp))
  }

  async #sendAll(): Promise<void> {
    const { link } = this.#options
    while (this.#pendingCount > 0) {
      const batch = this.#pending
      this.#pending = new Map()
      this.#pendingCount = 0
      try {
        if (link.isUp) await this.#send(batch)
      } catch (error) {
        link.refused(error)
      }
    }
    this.#isSending = false
  }

  async #send(batch: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
    const types = [...batch.keys()]
    const rooms = await this.#roomFor(types)
    await Promise.all(
      types.map(async (type, at) => {
        const ids = [...(batch.get(type) ?? [])].slice(0, rooms[at])
        if (ids.length > 0) await this.#addJobs(type, ids)
      }),
    )
  }

  /** For each type, how many more may wait: none if nobody listens. */
  async #roomFor(types: readonly string[]): Promise<readonly number[]> {
    const { link, names } = this.#options
    const channels = types.map((type) => names.presenceChannel(type))
    const asked = link.client.pipeline().call('PUBSUB', 'NUMSUB', ...channels)
    for (const type of types) asked.llen(names.waitingList(type))
    const [listening, ...lengths] = ((await asked.exec()) ?? []).map(([error, answer]) => {
      if (error !== null) throw error
      return answer
    })
    const counts = listening as readonly (string | number)[]
    return types.map((_type, at) => {
      const isHeard = Number(counts[2 * at + 1]) > 0
      return isHeard ? Math.max(0, waitingMax - Number(lengths[at])) : 0
    })
  }

  async #addJobs(type: string, ids: readonly string[]): Promise<void> {
    await this.#queueOf(type).addBulk(
      ids.map((jobId) => ({ name: 'wake-up', data: {}, opts: { jobId } })),
    )
  }

  #queueOf(type: string): Queue {
    const { link, names } = this.#options
    const known = this.#queues.get(type)
    if (known !== undefined) return known
    const queue = new Queue(names.queue(type), {
      connection: link.client,
      prefix: names.prefix,
      skipVersionCheck: true,
      streams: { events: { maxLen: 100 } },
      // A job that is kept after its end would swallow the next one with its id.
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    })
    // The link notices the same error.
    queue.on('error', () => undefined)
    this.#queues.set(type, queue)
    return queue
  }
}
