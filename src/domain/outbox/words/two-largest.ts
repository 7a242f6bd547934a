/** A length of time in its two largest units; nothing where it is shorter than a second. */
import type { Duration } from './words.ts'

const units = ['days', 'hours', 'minutes', 'seconds'] as const

export function twoLargest(
  length: Duration,
  names: Readonly<Record<keyof Duration, string>>,
): string {
  const first = units.findIndex((unit) => length[unit] > 0)
  if (first === -1) return `< 1 ${names.seconds}`
  return units
    .slice(first, first + 2)
    .filter((unit) => length[unit] > 0)
    .map((unit) => `${length[unit]} ${names[unit]}`)
    .join(' ')
}
