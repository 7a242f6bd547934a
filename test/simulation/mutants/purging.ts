/** Mutants of retention: a purge that removes too much. */
import type { Tamper } from '../../../src/simulation/node.ts'
import { replaceParts } from '../../../src/simulation/replace-parts.ts'
import type { Store } from '../../../src/store.ts'
import type { Mutants } from './mutant.ts'

export const purgingMutants: Mutants = {
  'a purge removes what is still to be delivered': {
    seed: 1,
    mutation: {
      store: (store, tamper) =>
        replaceParts(store, {
          upkeep: replaceParts(store.upkeep, { purge: carelessPurge(store, tamper) }),
        }),
    },
    rules: ['5', '7'],
  },
}

function carelessPurge(store: Store, tamper: Tamper): Store['upkeep']['purge'] {
  return async (...request) => {
    await tamper(`DELETE FROM delivery WHERE run_id IN (
      SELECT id FROM run WHERE finished_at IS NOT NULL)`)
    return await store.upkeep.purge(...request)
  }
}
