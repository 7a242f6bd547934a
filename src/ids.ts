/**
 * Our own ids: a prefix that says what the id names, the time in ten characters, then 80 random
 * bits. As plain bytes they sort by time, so both databases compare them by bytes.
 */
import { createHash } from 'node:crypto'
import type { Random } from './random.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

export type IdPrefix = 'run' | 'sub' | 'rep' | 'tok' | 'req' | 'inb' | 'del' | 'att'

export function makeId(prefix: IdPrefix, nowMs: number, random: Random): string {
  let tail = ''
  for (const byte of random.bytes(16)) tail += alphabet[byte & 31] ?? '0'
  return makeIdFloor(prefix, nowMs) + tail
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
  return `step_${createHash('sha256').update(identity).digest('base64url').slice(0, 32)}`
}
