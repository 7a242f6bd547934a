/** Reads which steps wait for a person's decision. */
import { isHeldForPerson, type Run } from '../../domain/run.ts'
import type { Step } from '../../domain/step.ts'
import type { StorePart } from '../../store.ts'

/** By the id of its run. A run waits for at most one. */
export async function readHeldSteps(
  store: StorePart<{ steps: 'list' }>,
  runs: readonly (Run | null)[],
): Promise<ReadonlyMap<string, Step>> {
  const waiting = runs.filter((run) => run !== null).filter(isHeldForPerson)
  const found = await Promise.all(
    [...new Set(waiting.map(({ id }) => id))].map(async (id) => {
      const steps = await store.steps.list(id, null)
      const held = steps.find(({ state }) => state === 'held')
      return held === undefined ? [] : [[id, held] as const]
    }),
  )
  return new Map(found.flat())
}
