/** Durations in texts that people read: `10 minutes`. */

const secondMs = 1000
const minuteMs = 60 * secondMs
const units = [
  ['day', 24 * 60 * minuteMs],
  ['hour', 60 * minuteMs],
  ['minute', minuteMs],
  ['second', secondMs],
] as const

/** For a limit, exact: `1 hour`, `90 minutes`, `61 seconds`, `1.5 seconds`. */
export function limitWords(ms: number): string {
  const [unit, unitMs] = units.find(([, each]) => ms > 0 && ms % each === 0) ?? ['second', secondMs]
  const count = ms / unitMs
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/**
 * For a measured time, rounded to seconds, and from two minutes on to minutes: 600,277 ms is
 * `10 minutes`.
 */
export function measuredWords(ms: number): string {
  const roundMs = ms < 2 * minuteMs ? secondMs : minuteMs
  return limitWords(Math.max(1, Math.round(ms / roundMs)) * roundMs)
}
