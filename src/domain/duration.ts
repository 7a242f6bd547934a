/** Durations in texts that people read: `10 minutes`. */

const secondMs = 1000
const minuteMs = 60 * secondMs
const units = [
  ['day', 24 * 60 * minuteMs],
  ['hour', 60 * minuteMs],
  ['minute', minuteMs],
  ['second', secondMs],
] as const

/** For a limit, exact to the second: `1 hour`, `90 minutes`, `61 seconds`. */
export function limitWords(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / secondMs)) * secondMs
  const [unit, unitMs] = units.find(([, each]) => seconds % each === 0) ?? ['second', secondMs]
  const count = seconds / unitMs
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** For a measured time, rounded to minutes from two minutes on: 600,277 ms is `10 minutes`. */
export function measuredWords(ms: number): string {
  return limitWords(ms < 2 * minuteMs ? ms : Math.round(ms / minuteMs) * minuteMs)
}
