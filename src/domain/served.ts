/**
 * Whether a server looks after the store. One that was active a short while ago probably restarts:
 * until it is back nobody can reach it, so nothing is taken from those who try. One that has been
 * away for longer is not coming back soon, and programs that embed the library do its work.
 */

const recentMs = 10 * 60_000

/** A server says every five seconds that it is there. */
const silentMsMax = 20_000

export function isActive(aliveAt: number | null, now: number): aliveAt is number {
  return aliveAt !== null && now - aliveAt <= silentMsMax
}

export function isServedRecently(servedAt: number | null, now: number): boolean {
  return servedAt !== null && Math.abs(now - servedAt) < recentMs
}
