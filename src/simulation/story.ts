/**
 * The log of a simulated world: what people, GitHub and the nodes did, and every audit row. Its
 * digest is the same for the same seed.
 */
import { createHash } from 'node:crypto'
import type { Log } from '../log.ts'
import type { VirtualTime } from './virtual-time.ts'

export class Story {
  readonly #time: VirtualTime
  readonly #lines: string[] = []

  constructor(time: VirtualTime) {
    this.#time = time
  }

  add(actor: string, text: string): void {
    const at = (this.#time.monotonicMs() / 1000).toFixed(3)
    this.#lines.push(`${at.padStart(10)} s  ${actor.padEnd(8)} ${text}`)
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  digest(): string {
    return createHash('sha256').update(this.#lines.join('\n')).digest('hex').slice(0, 16)
  }

  /** A log for a node: its warnings and errors become lines of the story. */
  createLog(actor: string): Log {
    const write = (given: unknown, text?: string): void => {
      const { err, delivery_id: id } = (typeof given === 'object' ? (given ?? {}) : {}) as {
        readonly err?: unknown
        readonly delivery_id?: string
      }
      const message = text ?? String(given)
      const cause = err instanceof Error ? ` (${err.message})` : ''
      this.add(actor, `${message}${id === undefined ? '' : ` ${id}`}${cause}`)
    }
    return { debug: () => undefined, info: () => undefined, warn: write, error: write }
  }
}
