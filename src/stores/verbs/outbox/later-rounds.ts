/**
 * Announcements of rounds that a restored store has forgotten, where they cover those it knows of
 * (check runs do): nobody else would close them. The last round that it knows of looks for them.
 */
import type { Run } from '../../../domain/run.ts'
import { markerKeyOf } from '../../../marker-keys.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { selectDeliveries } from '../../tables/delivery-table.ts'
import type { VerbContext } from '../context.ts'
import { storeDeliveries } from './store-deliveries.ts'

/** How often a run may have been run again since the copy, for its check to be found. */
const laterRounds = 5

export function laterKeysOf({ channels }: VerbContext, run: Run): readonly string[] {
  const rounds = Array.from({ length: laterRounds }, (_, i) => run.round + 1 + i)
  return channels.all.flatMap(({ covering }) =>
    covering === undefined
      ? []
      : rounds.map((later) => markerKeyOf(covering.markerText(run, later))),
  )
}

/** Names of the announcements that later ones cover. */
function coveredNames({ channels }: VerbContext): string[] {
  return channels.all.flatMap(({ announcement, covering }) =>
    announcement === undefined || covering === undefined ? [] : [announcement.name],
  )
}

/** These rounds have begun: what announces them is none that those before them have forgotten. */
export function* leaveToNextRound(context: VerbContext, runs: readonly Run[]): Verb<void> {
  const rounds = new Map(runs.filter(({ round }) => round > 1).map((run) => [run.id, run.round]))
  const names = coveredNames(context)
  if (rounds.size === 0 || names.length === 0) return
  const found = yield* selectDeliveries(
    sql`run_id IN (${join(padded([...rounds.keys()]))}) 
      AND name IN (${join(names)}) ORDER BY id`,
  )
  const looking = found.filter(({ runId, round, protocol }) => {
    const isLooking = (protocol.restored?.laterKeys.length ?? 0) > 0
    return isLooking && round < (rounds.get(runId ?? '') ?? 0)
  })
  yield* storeDeliveries(
    context,
    looking.map((delivery) => {
      return { ...delivery, protocol: { ...delivery.protocol, restored: { laterKeys: [] } } }
    }),
  )
}
