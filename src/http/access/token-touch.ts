/**
 * Notes when tokens are used, without a write per request: this process asks the store at most once
 * a minute and token, and never lets a request wait for it.
 */
import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { StorePart } from '../../store.ts'

const everyMs = 60_000
/** Only right tokens come here, so this is more than anybody has. */
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
