/**
 * Check runs of rounds that a restored store has forgotten: they cover those it knows of, and
 * nobody else would close them. The last round that it knows of looks for them.
 */
import { checkMarkerText } from '../../domain/outbox/announce.ts'
import type { Run } from '../../domain/run.ts'
import { markerKeyOf } from '../../marker-keys.ts'
import type { Verb } from '../sql.ts'
import { join, padded, sql } from '../sql.ts'
import { selectDeliveries } from '../tables/delivery-table.ts'
import type { VerbContext } from './context.ts'
import { storeDeliveries } from './store-deliveries.ts'

/** How often a run may have been run again since the copy, for its check to be found. */
const laterRounds = 5

export function laterCheckKeys(run: Run): readonly string[] {
  const rounds = Array.from({ length: laterRounds }, (_, i) => run.round + 1 + i)
  return rounds.map((later) => markerKeyOf(checkMarkerText(run, later)))
}

/** These rounds have begun: their check runs are none that those before them have forgotten. */
export function* leaveToNextRound(context: VerbContext, runs: readonly Run[]): Verb<void> {
  const rounds = new Map(runs.filter(({ round }) => round > 1).map((run) => [run.id, run.round]))
  if (rounds.size === 0) return
  const found = yield* selectDeliveries(
    sql`run_id IN (${join(padded([...rounds.keys()]))}) AND name = 'check' ORDER BY id`,
  )
  const looking = found.filter(({ runId, round, protocol }) => {
    const isLooking = (protocol.restored?.laterKeys.length ?? 0) > 0
    return isLooking && round < (rounds.get(runId) ?? 0)
  })
  yield* storeDeliveries(
    context,
    looking.map((delivery) => {
      return { ...delivery, protocol: { ...delivery.protocol, restored: { laterKeys: [] } } }
    }),
  )
}
