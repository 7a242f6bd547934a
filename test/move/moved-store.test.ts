/**
 * Goal: a moved store is the same store. Holders keep their leases, tokens work, known keys are
 * known, and whatever is new comes after what was there.
 * Method: fill a SQLite store through its own verbs, move it, and ask both.
 */
import { expect, it } from 'vitest'
import { fillStore } from './filled-store.ts'
import { useMoveWorld } from './move-world.ts'

const world = useMoveWorld()

it('moves everything', async () => {
  const store = world().source()
  await fillStore(store)
  await store.close()
  const answer = await world().move()
  console.log(answer)
})
