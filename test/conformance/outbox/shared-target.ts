/** Runs of several pull requests that share one status: what each test does to them and asks. */
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { Outcome } from '../../../src/domain/run.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion } from '../claims.ts'
import { contentOf, ManualPublisher } from './manual-publisher.ts'
import { openWorld, useFreshWorld, type OpenStore, type World } from '../world.ts'

export const idOf = ({ run }: ClaimAnswer): string => run?.id ?? ''

/** A world of its own for each test; `statusIn` finds the one status that they share. */
export function useSharedTarget(open: OpenStore, statusIn: (world: World) => Promise<Delivery>) {
  const world = useFreshWorld(() => openWorld(open))
  return {
    world,
    publisher: new ManualPublisher(world),
    complete: (held: ClaimAnswer, outcome: Outcome = 'succeeded') =>
      world.store.runs.complete(completion(held, outcome), null),
    cancel: (held: ClaimAnswer) => world.store.runs.cancel(idOf(held), 'test', null),
    /** What the status says, and whose it is. */
    shows: async (): Promise<readonly unknown[]> => {
      const delivery = await statusIn(world)
      return [contentOf(delivery)['state'], delivery.runId]
    },
    /** What a run said and was not shown, and who had the status then. */
    dropped: async (held: ClaimAnswer): Promise<readonly unknown[]> => {
      const filter = { runId: idOf(held), type: 'delivery.target_taken' } as const
      const { items } = await world.store.audit.list(filter, { limit: 100, cursor: null })
      return items.map(({ data }) => [data['state'], data['shown_run_id']])
    },
  }
}
