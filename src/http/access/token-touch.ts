/**
 * Stores when a token was last used, without a write per request: each process writes at most once
 * per minute and token, and no request waits for it.
 */
import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { StorePart } from '../../store.ts'

const everyMs = 60_000
/** Only valid tokens come here, and nobody has this many. */
const rememberedMax = 10_000

export type TouchToken = (id: string) => void

export function tokenToucher(
  store: StorePart<{ tokens: 'touch' }>,
  clock: Pick<Clock, 'monotonicMs'>,
  log: Log,
): TouchToken {
  const touchedAt = new Map<string, number>()
  return (id) => {
    const now = clock.monotonicMs()
    if (now - (touchedAt.get(id) ?? -Infinity) < everyMs) return
    if (touchedAt.size >= rememberedMax) touchedAt.clear()
    touchedAt.set(id, now)
    store.tokens.touch(id).catch((error: unknown) => {
      touchedAt.delete(id)
      log.warn({ err: error, token_id: id }, 'Could not record that a token was used')
    })
  }
}
