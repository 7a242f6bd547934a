/** Times for people: how long ago something was, in one rounded unit. */

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** `12 s`, `3 min`, `5 h`, `2 d`. */
export function durationText(ms: number): string {
  const length = Math.abs(ms)
  if (length < minuteMs) return `${Math.floor(length / secondMs)} s`
  if (length < hourMs) return `${Math.floor(length / minuteMs)} min`
  if (length < 2 * dayMs) return `${Math.floor(length / hourMs)} h`
  return `${Math.floor(length / dayMs)} d`
}

/** `3 min ago`, `in 2 h`; beyond a month the day itself. Takes RFC 3339. */
export function relativeTime(time: string, nowMs: number): string {
  const at = Date.parse(time)
  if (Number.isNaN(at)) return time
  const ago = nowMs - at
  if (Math.abs(ago) < secondMs) return 'now'
  if (Math.abs(ago) > 30 * dayMs) return time.slice(0, 10)
  return ago > 0 ? `${durationText(ago)} ago` : `in ${durationText(ago)}`
}

/** The time as in JSON, and how long ago it was. */
export function exactTime(time: string, nowMs: number): string {
  const relative = relativeTime(time, nowMs)
  return time.startsWith(relative) ? time : `${time} (${relative})`
}
