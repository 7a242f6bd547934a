/**
 * Our own ids: a prefix that says what it names, the time in ten characters, then 80 random bits.
 * They sort by time as plain bytes, which is why both databases compare them bytewise.
 */
import type { Random } from './random.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

export type IdPrefix = 'run' | 'sub' | 'rep' | 'tok' | 'req' | 'inb' | 'del' | 'att'

export function makeId(prefix: IdPrefix, nowMs: number, random: Random): string {
  let tail = ''
  for (const byte of random.bytes(16)) tail += alphabet[byte & 31] ?? '0'
  return makeIdFloor(prefix, nowMs) + tail
}

/** Sorts before every id of this kind made at `nowMs` or later. */
export function makeIdFloor(prefix: IdPrefix, nowMs: number): string {
  let time = ''
  let rest = Math.max(0, Math.floor(nowMs))
  for (let i = 0; i < 10; i++) {
    time = (alphabet[rest % 32] ?? '0') + time
    rest = Math.floor(rest / 32)
  }
  return `${prefix}_${time}`
}
