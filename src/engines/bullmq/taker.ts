/**
 * Takes the wake-ups of one type, one after the other, as long as this process has room.
 *
 * BullMQ has a loop of its own for this. It asks again at once when Redis refuses a command, and
 * so would ask a read-only Redis thousands of times a second. This one waits until the link is up.
 *
 * What must hold: a job ends when its wake-up was heard, whatever follows from it. A job for which
 * this process has no room goes back, so that another process takes it. A job of a process that
 * died is taken by another one after a few seconds.
 */
import { Worker, type Job } from 'bullmq'
import type { Clock } from '../../clock.ts'
import type { Heard, WakeUp } from '../../engine.ts'
import { within, type Scheduler } from '../../scheduler.ts'
import { wakeUpOf, type QueueNames } from './names.ts'
import type { RedisLink } from './redis-link.ts'

export interface TakerOptions {
  readonly link: RedisLink
  readonly names: QueueNames
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly type: string
  /** Different for each process: proves which one has taken a job. */
  readonly processId: string
  readonly take: (wakeUp: WakeUp) => Promise<Heard>
}

/** Redis holds a question for a job for so long. */
const blockSeconds = 5
/** A job that is not ended after this time belongs to a process that died. */
const jobMsMax = 5000
/** After an error that is not one of Redis. */
const restMs = 1000
const stopMsMax = 1000

export class Taker {
  readonly #options: TakerOptions
  readonly #worker: Worker
  readonly #ended: Promise<void>
  #isPaused = false
  #isStopped = false
  #jobCount = 0
  #stalledCheckedAt = -Infinity
  /** Ends a wait of the loop. */
  #wake: () => void = () => undefined

  constructor(options: TakerOptions) {
    this.#options = options
    const { link, names, type } = options
    this.#worker = new Worker(names.queue(type), null, {
      connection: link.client,
      prefix: names.prefix,
      autorun: false,
      skipVersionCheck: true,
      drainDelay: blockSeconds,
      lockDuration: jobMsMax,
      stalledInterval: jobMsMax,
      maxStalledCount: 1,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    })
    this.#worker.on('error', (error) => {
      if (error.name === 'ReplyError') link.refused(error)
    })
    link.watch(() => this.#wake())
    this.#ended = this.#run()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#wake()
  }

  /** Within a second. The link still works then, so that a job in hand can end. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#wake()
    const closed = this.#worker.close(true)
    const all = Promise.allSettled([closed, this.#ended])
    await within(this.#options.scheduler, stopMsMax, all, undefined)
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      if (this.#isPaused || !this.#options.link.isUp) {
        await this.#wait(null)
        continue
      }
      try {
        await this.#takeNext()
      } catch (error) {
        this.#options.link.refused(error)
        await this.#wait(restMs)
      }
    }
  }

  /** Resolves when something has changed, or after `ms`. */
  async #wait(ms: number | null): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const cancel = ms === null ? null : this.#options.scheduler.afterInBackground(ms, resolve)
    await promise
    cancel?.()
  }

  async #takeNext(): Promise<void> {
    await this.#returnStalled()
    this.#jobCount += 1
    const token = `${this.#options.processId}:${this.#jobCount}`
    // There may be none, which BullMQ's type leaves out.
    const job = (await this.#worker.getNextJob(token)) as Job | undefined
    if (job === undefined) return
    if (this.#isPaused || this.#isStopped) {
      await ignoringGone(job.moveToWait(token))
      return
    }
    const heard = await this.#options.take(wakeUpOf(idOf(job), this.#options.type))
    if (heard === 'full') await ignoringGone(job.moveToWait(token))
    else await ignoringGone(job.moveToCompleted(null, token, false))
  }

  async #returnStalled(): Promise<void> {
    const now = this.#options.clock.monotonicMs()
    if (now - this.#stalledCheckedAt < jobMsMax) return
    this.#stalledCheckedAt = now
    await this.#worker.getBackend().moveStalledJobsToWait()
  }
}

/** The job may be gone: Redis was emptied, or another process took it because we were slow. */
async function ignoringGone(change: Promise<unknown>): Promise<void> {
  await change.catch(() => undefined)
}

function idOf(job: Job): string {
  return job.id ?? ''
}
