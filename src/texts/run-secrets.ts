/**
 * The values that the commands of this process were given and must not show, by the lease of their
 * run. A command can send one with its run token, too: the process that started the command is the
 * one that receives it (`HOLDFAST_URL`), so it hides the value before anything is stored.
 */
import { maskFor, maskJson } from './mask-values.ts'

export type Mask = <T>(value: T) => T

/** What a command left behind may still send something for a while. */
const endedMax = 200

export class RunSecrets {
  readonly #masks = new Map<string, Mask>()
  /** Leases whose command has ended, the oldest first. */
  readonly #ended: string[] = []

  add(leaseHash: string, values: readonly string[]): void {
    const mask = maskFor(values)
    this.#masks.set(leaseHash, (value) => maskJson(value, mask))
  }

  /** Its command has ended. */
  ended(leaseHash: string): void {
    this.#ended.push(leaseHash)
    if (this.#ended.length > endedMax) this.#masks.delete(this.#ended.shift() ?? '')
  }

  /** Hides the values in all texts of what the holder of this lease sends. */
  maskOf(leaseHash: string | null): Mask {
    return this.#masks.get(leaseHash ?? '') ?? unchanged
  }
}

export const unchanged: Mask = (value) => value
