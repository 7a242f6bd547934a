/**
 * Our own ids: a prefix that says what the id names, the time in ten characters, then 80 random
 * bits. As plain bytes they sort by time, so both databases compare them by bytes.
 */
import { hash } from 'node:crypto'
import type { Random } from './random.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const randomLength = 16

export type IdPrefix = 'run' | 'sub' | 'rep' | 'tok' | 'req' | 'inb' | 'del' | 'att'

export function makeId(prefix: IdPrefix, nowMs: number, random: Random): string {
  let tail = ''
  for (const byte of random.bytes(randomLength)) tail += alphabet[byte & 31] ?? '0'
  return makeIdFloor(prefix, nowMs) + tail
}

/**
 * Ids of one process that sort in the order in which they were made, also within a millisecond.
 * Lists go by id, so a run that was claimed later must not come before an earlier one.
 */
export class GrowingIds {
  readonly #random: Random
  readonly #last = new Map<IdPrefix, { readonly nowMs: number; readonly id: string }>()

  constructor(random: Random) {
    this.#random = random
  }

  next(prefix: IdPrefix, nowMs: number): string {
    const last = this.#last.get(prefix)
    const following = last?.nowMs === nowMs ? increased(last.id) : null
    const id = following ?? makeId(prefix, nowMs, this.#random)
    this.#last.set(prefix, { nowMs, id })
    return id
  }
}

/** The next id after this one. Null if its random part is the last one there is. */
function increased(id: string): string | null {
  for (let i = id.length - 1; i >= id.length - randomLength; i--) {
    const next = alphabet[alphabet.indexOf(id[i] ?? '') + 1]
    if (next !== undefined) return id.slice(0, i) + next + '0'.repeat(id.length - 1 - i)
  }
  return null
}

/** A text that sorts before every id of this kind that is made at `nowMs` or later. */
export function makeIdFloor(prefix: IdPrefix, nowMs: number): string {
  let time = ''
  let remaining = Math.max(0, Math.floor(nowMs))
  for (let i = 0; i < 10; i++) {
    time = (alphabet[remaining % 32] ?? '0') + time
    remaining = Math.floor(remaining / 32)
  }
  return `${prefix}_${time}`
}

/**
 * The key of a step: the same in every attempt of its round, so that another system can recognise a
 * repeat by it.
 */
export function stepKey(step: {
  readonly runId: string
  readonly round: number
  readonly name: string
}): string {
  const identity = JSON.stringify([step.runId, step.round, step.name])
  return `step_${hash('sha256', identity, 'base64url').slice(0, 32)}`
}
