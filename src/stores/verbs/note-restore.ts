/** A copy of a store was put in its place: what happened since the copy is not in it. */
import { tell } from '../../domain/outbox/outcome.ts'
import { afterRestore } from '../../domain/outbox/restored.ts'
import type { Verb } from '../sql.ts'
import { sql } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import { selectDeliveries, writeDeliveries } from '../tables/delivery-table.ts'
import type { VerbContext } from './context.ts'
import { readState, writeState } from './state.ts'

const biteMax = 500

/** What a copy says of itself, once. */
export function* noticeBackup(context: VerbContext): Verb<void> {
  if ((yield* readState('is_backup')) === null) return
  yield* noteRestore(context)
  yield sql`DELETE FROM store_state WHERE key = 'is_backup'`
}

export function* noteRestore(context: VerbContext): Verb<void> {
  const now = context.now()
  yield* writeState('restored_at', String(now))
  let after = ''
  for (;;) {
    const found = yield* selectDeliveries(sql`id > ${after}
      AND (status IN ('PENDING', 'FAILED') OR (status = 'SENT' AND final = 0))
      ORDER BY id LIMIT ${biteMax}`)
    const doubted = found.map((delivery) => afterRestore(delivery, now))
    yield* writeDeliveries(doubted)
    yield* insertAudits(
      doubted
        .filter((item, i) => item.wait === 'in_doubt' && found[i]?.wait !== 'in_doubt')
        .map((item) => tell(item, 'delivery.in_doubt', { reason: 'restored' })),
      now,
    )
    if (found.length < biteMax) return
    after = found.at(-1)?.id ?? ''
  }
}
