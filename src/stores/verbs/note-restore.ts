/** A copy of a store was put in its place: what happened since the copy is not in it. */
import { checkMarkerText } from '../../domain/outbox/announce.ts'
import type { Delivery, Restored } from '../../domain/outbox/delivery.ts'
import { tell } from '../../domain/outbox/outcome.ts'
import { afterRestore, isReadAgain, readAgain } from '../../domain/outbox/restored.ts'
import type { Run } from '../../domain/run.ts'
import { markerKeyOf } from '../../marker-keys.ts'
import type { Verb } from '../sql.ts'
import { join, padded, sql } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import { selectDeliveries, writeDeliveries } from '../tables/delivery-table.ts'
import { selectRuns } from '../tables/run-table.ts'
import type { VerbContext } from './context.ts'
import { readState, writeState } from './state.ts'

const biteMax = 500
/** What was shown longer ago than this before the copy was made is not read again. */
const recentMs = 7 * 24 * 3_600_000
/** Between two of the reads: there may be thousands, and GitHub counts reads too. */
const readEveryMs = 1000
/** How often a run may have been run again since the copy, for its check to be found. */
const laterRounds = 5

/** What a copy says of itself, once. */
export function* noticeBackup(context: VerbContext): Verb<void> {
  if ((yield* readState('is_backup')) === null) return
  yield* noteRestore(context)
  yield sql`DELETE FROM store_state WHERE key = 'is_backup'`
}

export function* noteRestore(context: VerbContext): Verb<void> {
  const now = context.now()
  const copiedAt = Number((yield* readState('alive_at')) ?? now)
  yield* writeState('restored_at', String(now))
  let before: string | null = null
  let readAt = now
  for (;;) {
    // The newest first: they are the likeliest to have changed since.
    const found: readonly Delivery[] = yield* selectDeliveries(sql`
      ${before === null ? sql`1 = 1` : sql`id < ${before}`}
      AND (status IN ('PENDING', 'FAILED') OR (status = 'SENT' AND (final = 0
        OR (kind = 'state' AND sent_at >= ${copiedAt - recentMs})))
        OR (status = 'SKIPPED' AND kind = 'state' AND changed_at >= ${copiedAt - recentMs}))
      ORDER BY id DESC LIMIT ${biteMax}`)
    const runs = yield* runsOf(found)
    const doubted = found.map((delivery) => {
      const known = afterRestore(delivery, now)
      if (!isReadAgain(delivery)) return known
      readAt += readEveryMs
      const restored = restoredOf(delivery, runs.get(delivery.runId))
      return readAgain(known, readAt, restored, context.publishing)
    })
    yield* writeDeliveries(doubted)
    yield* insertAudits(
      doubted
        .filter((item, i) => item.wait === 'in_doubt' && found[i]?.wait !== 'in_doubt')
        .map((item) => tell(item, 'delivery.in_doubt', { reason: 'restored' })),
      now,
    )
    if (found.length < biteMax) return
    before = found.at(-1)?.id ?? ''
  }
}

function* runsOf(deliveries: readonly Delivery[]): Verb<ReadonlyMap<string, Run>> {
  const ids = deliveries.filter(({ name }) => name === 'check').map(({ runId }) => runId)
  if (ids.length === 0) return new Map()
  const runs = yield* selectRuns(sql`id IN (${join(padded([...new Set(ids)]))})`)
  return new Map(runs.map((run) => [run.id, run]))
}

/** Every round has a check run of its own: a later one covers what this store knows of. */
function restoredOf({ name, round }: Delivery, run: Run | undefined): Restored {
  if (name !== 'check' || run === undefined) return { laterKeys: [] }
  const rounds = Array.from({ length: laterRounds }, (_, i) => round + 1 + i)
  return { laterKeys: rounds.map((later) => markerKeyOf(checkMarkerText(run, later))) }
}
