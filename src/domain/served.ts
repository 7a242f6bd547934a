/**
 * Whether a server is active on the store. A server that was active a short time ago probably
 * restarts: meanwhile nobody can reach it, so no lease is taken away. If it stays away longer,
 * programs that embed the library do its work.
 */

const recentMs = 10 * 60_000

/**
 * The only server of a store may be silent for so long, and nobody takes a run from it: for others
 * that is a restart. A sign of life may be some seconds older than the last renewal.
 */
export const silenceMsMax = recentMs - 60_000

/** A server stores a sign of life every five seconds. */
const silentMsMax = 20_000

export function isActive(aliveAt: number | null, now: number): aliveAt is number {
  return aliveAt !== null && now - aliveAt <= silentMsMax
}

export function isServedRecently(servedAt: number | null, now: number): boolean {
  return servedAt !== null && Math.abs(now - servedAt) < recentMs
}
