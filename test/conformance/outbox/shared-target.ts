/** Helpers for tests of several pull requests whose runs share one status. */
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { Outcome } from '../../../src/domain/run.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion } from '../claims.ts'
import { contentOf, ManualPublisher } from './manual-publisher.ts'
import { openWorld, useFreshWorld, type OpenStore, type World } from '../world.ts'

export const idOf = ({ run }: ClaimAnswer): string => run?.id ?? ''

/** A new world for each test. `statusIn` finds the shared status. */
export function useSharedTarget(open: OpenStore, statusIn: (world: World) => Promise<Delivery>) {
  const world = useFreshWorld(() => openWorld(open))
  return {
    world,
    publisher: new ManualPublisher(world),
    complete: (held: ClaimAnswer, outcome: Outcome = 'succeeded') =>
      world.store.runs.complete(completion(held, outcome), null),
    cancel: (held: ClaimAnswer) => world.store.runs.cancel(idOf(held), 'test', null),
    /** The state of the status, and the run that it belongs to. */
    shows: async (): Promise<readonly unknown[]> => {
      const delivery = await statusIn(world)
      return [contentOf(delivery)['state'], delivery.runId]
    },
    /** The states of a run that were not shown, and the run that had the status then. */
    dropped: async (held: ClaimAnswer): Promise<readonly unknown[]> => {
      const filter = { runId: idOf(held), type: 'delivery.target_taken' } as const
      const { items } = await world.store.audit.list(filter, { limit: 100, cursor: null })
      return items.map(({ data }) => [data['state'], data['shown_run_id']])
    },
  }
}
