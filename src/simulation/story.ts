/**
 * What happened in a simulated world, line by line: what people and GitHub did, what left and
 * arrived, what the audit says. Its digest is the same for the same seed.
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

  add(who: string, what: string): void {
    const at = (this.#time.monotonicMs() / 1000).toFixed(3)
    this.#lines.push(`${at.padStart(10)} s  ${who.padEnd(8)} ${what}`)
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  digest(): string {
    return createHash('sha256').update(this.#lines.join('\n')).digest('hex').slice(0, 16)
  }

  /** A node's log, as far as somebody who looks for the cause wants to see it. */
  createLog(who: string): Log {
    const say = (given: unknown, text?: string): void => {
      const { err, delivery_id: id } = (typeof given === 'object' ? (given ?? {}) : {}) as {
        readonly err?: unknown
        readonly delivery_id?: string
      }
      const told = text ?? String(given)
      const cause = err instanceof Error ? ` (${err.message})` : ''
      this.add(who, `${told}${id === undefined ? '' : ` ${id}`}${cause}`)
    }
    return { debug: () => undefined, info: () => undefined, warn: say, error: say }
  }
}
