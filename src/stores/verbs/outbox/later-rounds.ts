/**
 * A restored store may have forgotten rounds whose announcements hide the ones that it knows. This
 * happens with check runs. Nobody else would close them, so the last known round looks for them.
 */
import type { Run } from '../../../domain/run.ts'
import { markerKeyOf } from '../../../marker-keys.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { selectDeliveries } from '../../tables/delivery-table.ts'
import type { VerbContext } from '../context.ts'
import { storeDeliveries } from './store-deliveries.ts'

/** How many forgotten rounds of a run are looked for. */
const laterRounds = 5

export function laterKeysOf({ channels }: VerbContext, run: Run): readonly string[] {
  const rounds = Array.from({ length: laterRounds }, (_, i) => run.round + 1 + i)
  return channels.all.flatMap(({ repeatWhenHidden }) =>
    repeatWhenHidden === undefined
      ? []
      : rounds.map((later) => markerKeyOf(repeatWhenHidden.markerText(run, later))),
  )
}

/** Names of the announcements that later ones hide. */
function hiddenNames({ channels }: VerbContext): string[] {
  return channels.all.flatMap(({ announcement, repeatWhenHidden }) =>
    announcement === undefined || repeatWhenHidden === undefined ? [] : [announcement.name],
  )
}

/** These rounds have begun, so the rounds before them need not look for later ones any more. */
export function* leaveToNextRound(context: VerbContext, runs: readonly Run[]): Verb<void> {
  const rounds = new Map(runs.filter(({ round }) => round > 1).map((run) => [run.id, run.round]))
  const names = hiddenNames(context)
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
