/**
 * Reads bodies of which nobody knows yet whether they are signed, in a room of limited size that
 * all connections share: whoever has no secret cannot make us keep more than that.
 *
 * What must hold: only bytes that have arrived take room, not what a sender says will come. A body
 * that finds no room is not refused but waits, unread, for a few seconds; then it is a 503, which
 * GitHub shows as failed and catch-up fetches. No body waits for one that waits for it. Large
 * bodies leave a part of the room to small ones, and nobody may take longer than GitHub itself
 * would wait for an answer.
 */
import type { Readable } from 'node:stream'
import type { Cancel, Scheduler } from '../../scheduler.ts'
import { HttpProblem } from '../answers/problem.ts'

const mib = 1024 * 1024

export interface BodyLimits {
  /** Of one body. */
  readonly bytesMax: number
  /** Of all bodies together. */
  readonly roomBytes: number
  /** Of that, what only the first `smallBytes` of each body may use. */
  readonly keptForSmallBytes: number
  readonly smallBytes: number
  readonly waitMs: number
  readonly readMs: number
}

/** GitHub sends nothing larger than 25 MB and waits 10 seconds for an answer. */
export const webhookBodyLimits: BodyLimits = {
  bytesMax: 25 * mib,
  roomBytes: 96 * mib,
  keptForSmallBytes: 32 * mib,
  smallBytes: mib,
  waitMs: 5000,
  readMs: 10_000,
}

interface Wait {
  readonly bytes: number
  readonly room: number
  readonly enter: () => void
  readonly refuse: () => void
}

interface Reader {
  taken: number
  wait: Wait | null
}

export class UnverifiedBodies {
  readonly #limits: BodyLimits
  readonly #scheduler: Scheduler
  /** In the order in which they began. */
  readonly #readers = new Set<Reader>()
  #used = 0

  constructor(scheduler: Scheduler, limits: BodyLimits = webhookBodyLimits) {
    this.#scheduler = scheduler
    this.#limits = limits
  }

  /** Bytes that are kept now. */
  get usedBytes(): number {
    return this.#used
  }

  /** The whole body, which stops counting when `release` is called. */
  async read(stream: Readable): Promise<{ readonly body: Buffer; readonly release: () => void }> {
    const chunks: Buffer[] = []
    const reader: Reader = { taken: 0, wait: null }
    this.#readers.add(reader)
    const release = (): void => {
      if (!this.#readers.delete(reader)) return
      this.#used -= reader.taken
      this.#letIn()
    }
    try {
      for await (const chunk of this.#chunks(stream)) {
        if (reader.taken + chunk.length > this.#limits.bytesMax) throw tooLarge()
        await this.#enter(reader, chunk.length)
        chunks.push(chunk)
      }
    } catch (error) {
      release()
      throw error instanceof HttpProblem ? error : brokenOff()
    }
    return { body: Buffer.concat(chunks, reader.taken), release }
  }

  /** Leaving early does not destroy the stream: its connection has an answer to carry. */
  async *#chunks(stream: Readable): AsyncGenerator<Buffer, void> {
    const late = Promise.withResolvers<never>()
    late.promise.catch(() => undefined)
    const cancel = this.#scheduler.after(this.#limits.readMs, () => late.reject(tooSlow()))
    const iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    try {
      for (;;) {
        const next = iterator.next()
        next.catch(() => undefined)
        const read = await Promise.race([next, late.promise])
        if (read.done === true) return
        yield read.value
      }
    } finally {
      cancel()
    }
  }

  /** Takes room for the next bytes of a body. */
  async #enter(reader: Reader, bytes: number): Promise<void> {
    const { roomBytes, keptForSmallBytes, smallBytes } = this.#limits
    const isSmall = reader.taken + bytes <= smallBytes
    const room = isSmall ? roomBytes : roomBytes - keptForSmallBytes
    if (this.#used + bytes <= room) this.#take(reader, bytes)
    else await this.#waitFor(reader, bytes, room)
  }

  #take(reader: Reader, bytes: number): void {
    this.#used += bytes
    reader.taken += bytes
  }

  #waitFor(reader: Reader, bytes: number, room: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel: Cancel = this.#scheduler.after(this.#limits.waitMs, () => refuse())
      const end = (): void => {
        cancel()
        reader.wait = null
      }
      const enter = (): void => {
        end()
        resolve()
      }
      const refuse = (): void => {
        end()
        reject(noRoom())
      }
      reader.wait = { bytes, room, enter, refuse }
      this.#refuseWhereAllWait()
    })
  }

  #letIn(): void {
    for (const reader of this.#readers) {
      if (reader.wait === null || this.#used + reader.wait.bytes > reader.wait.room) continue
      this.#take(reader, reader.wait.bytes)
      reader.wait.enter()
    }
    this.#refuseWhereAllWait()
  }

  /** Where each waits for room another holds, none could end: the last that began gives way. */
  #refuseWhereAllWait(): void {
    const holders = [...this.#readers].filter(({ taken }) => taken > 0)
    if (holders.length > 1 && holders.every(({ wait }) => wait !== null)) {
      holders.at(-1)?.wait?.refuse()
    }
  }
}

export const tooLarge = (): HttpProblem =>
  new HttpProblem(413, 'body_too_large', 'A webhook is at most 25 MB.')

/** The sender's doing, so it is answered, should anybody still listen, and not logged as ours. */
const brokenOff = (): HttpProblem =>
  new HttpProblem(400, 'bad_content_length', 'The body broke off before its end.')

const tooSlow = (): HttpProblem =>
  new HttpProblem(408, 'request_timeout', 'The body came too slowly.')

const noRoom = (): HttpProblem =>
  new HttpProblem(503, 'busy', 'Too many webhooks are arriving at once.', {
    headers: { 'retry-after': '5' },
    hint: 'Send it again. What GitHub does not send again is fetched by catch-up.',
  })
