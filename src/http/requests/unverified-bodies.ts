/**
 * Reads bodies whose signature is not checked yet. All connections share one limited amount of
 * memory for them, so a sender without the secret cannot make the server use more.
 *
 * What must hold:
 * - Only bytes that have arrived count, not the announced length.
 * - If there is no room, a body waits unread for a few seconds. Then it is refused with 503. GitHub
 *   shows that as failed, and catch-up fetches the webhook.
 * - No two bodies wait for each other.
 * - Large bodies leave a part of the room to small ones.
 * - No body may take longer than GitHub itself waits for an answer.
 */
import type { Readable } from 'node:stream'
import type { Cancel, Scheduler } from '../../scheduler.ts'
import { HttpProblem } from '../answers/problem.ts'

const mib = 1024 * 1024

export interface BodyLimits {
  /** For one body. */
  readonly bytesMax: number
  /** For all bodies together. */
  readonly roomBytes: number
  /** The part of the room that only the first `smallBytes` of each body may use. */
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
  /** In the order of their start. */
  readonly #readers = new Set<Reader>()
  #used = 0

  constructor(scheduler: Scheduler, limits: BodyLimits = webhookBodyLimits) {
    this.#scheduler = scheduler
    this.#limits = limits
  }

  /** The bytes that are in use now. */
  get usedBytes(): number {
    return this.#used
  }

  /** Resolves with the whole body. Its bytes count until `release` is called. */
  async read(stream: Readable): Promise<{ readonly body: Buffer; readonly release: () => void }> {
    const chunks: Buffer[] = []
    const reader: Reader = { taken: 0, wait: null }
    this.#readers.add(reader)
    const release = (): void => {
      if (!this.#readers.delete(reader)) return
      this.#used -= reader.taken
      this.#admitWaiting()
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

  /** Stopping early does not destroy the stream, because its connection must carry the answer. */
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

  #admitWaiting(): void {
    for (const reader of this.#readers) {
      if (reader.wait === null || this.#used + reader.wait.bytes > reader.wait.room) continue
      this.#take(reader, reader.wait.bytes)
      reader.wait.enter()
    }
    this.#refuseWhereAllWait()
  }

  /** If every body that has room waits for more, none could end. So the newest is refused. */
  #refuseWhereAllWait(): void {
    const holders = [...this.#readers].filter(({ taken }) => taken > 0)
    if (holders.length > 1 && holders.every(({ wait }) => wait !== null)) {
      holders.at(-1)?.wait?.refuse()
    }
  }
}

export const tooLarge = (): HttpProblem =>
  new HttpProblem(413, 'body_too_large', 'A webhook is at most 25 MB.')

/** The sender caused this, so it gets an answer, and the log does not show a server error. */
const brokenOff = (): HttpProblem =>
  new HttpProblem(400, 'bad_content_length', 'The body broke off before its end.')

const tooSlow = (): HttpProblem =>
  new HttpProblem(408, 'request_timeout', 'The body came too slowly.')

const noRoom = (): HttpProblem =>
  new HttpProblem(503, 'busy', 'Too many webhooks are arriving at once.', {
    headers: { 'retry-after': '5' },
    hint: 'Send it again. What GitHub does not send again is fetched by catch-up.',
  })
