/**
 * A clock and a scheduler whose time passes only when a test says so. Timers run in the order of
 * their times; timers of the same time run in the order they were set.
 */
import type { Clock } from '../../src/clock.ts'
import type { Scheduler } from '../../src/scheduler.ts'

export interface VirtualTime {
  readonly clock: Clock
  readonly scheduler: Scheduler
  /** How many timers are set. */
  readonly waiting: number
  pass(ms: number): void
}

export const startOfTime = Date.parse('2026-11-15T12:00:00Z')

export function createVirtualTime(): VirtualTime {
  let now = startOfTime
  const timers = new Set<{ readonly at: number; readonly task: () => void }>()
  const after = (ms: number, task: () => void) => {
    const timer = { at: now + ms, task }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  return {
    clock: { wallMs: () => now, monotonicMs: () => now - startOfTime },
    scheduler: { soon: (task) => void after(0, task), after, afterInBackground: after },
    get waiting() {
      return timers.size
    },
    pass(ms) {
      const end = now + ms
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
        if (due === undefined) break
        now = Math.max(now, due.at)
        timers.delete(due)
        due.task()
      }
      now = end
    },
  }
}
