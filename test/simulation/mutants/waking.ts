/** Mutants of the queue and the sweeper: work that waits for a wake-up, or has no lease. */
import type { EngineListener } from '../../../src/engine.ts'
import type { Mutation, Tamper } from '../../../src/simulation/node.ts'
import { replaceParts } from '../../../src/simulation/replace-parts.ts'
import type { Store } from '../../../src/store.ts'
import type { Mutants } from './mutant.ts'

export const wakingMutants: Mutants = {
  'a node looks for runs only when it is woken': {
    seed: 1,
    mutation: {
      store: (store) =>
        replaceParts(store, {
          runs: replaceParts(store.runs, { availableTypes: () => Promise.resolve([]) }),
        }),
    },
    rules: ['11'],
  },
  'nobody gives back the runs of a lost holder': {
    seed: 4,
    mutation: {
      store: (store) =>
        replaceParts(store, { runs: replaceParts(store.runs, { due: () => Promise.resolve([]) }) }),
    },
    rules: ['11'],
  },
  'a run that is given back by the sweeper is left to a wake-up': {
    seed: 4,
    mutation: {
      store: (store, tamper) =>
        replaceParts(store, {
          runs: replaceParts(store.runs, { sweep: sweepWithoutQueue(store, tamper) }),
        }),
    },
    rules: ['11'],
  },
  'a wake-up gives the run to whoever is woken': {
    seed: 3,
    mutation: takingWhatIsAnnounced(),
    rules: ['11', '3'],
  },
  'a wake-up is enough to work on a run': {
    seed: 3,
    mutation: workingWithoutLease(),
    rules: ['11'],
  },
}

/** It is pending, but not on the list of free runs. */
function sweepWithoutQueue(store: Store, tamper: Tamper): Store['runs']['sweep'] {
  return async (runId) => {
    const run = await store.runs.sweep(runId)
    if (run?.state === 'pending') {
      await tamper(`UPDATE run SET available_at = NULL, due_at = NULL WHERE id = '${runId}'`)
    }
    return run
  }
}

/** The run is taken from its holder, as if it were free. */
function takingWhatIsAnnounced(): Mutation {
  return afterWakeUps((store, woken, tamper) => async (request) => {
    for (const runId of woken) {
      await tamper(`UPDATE run SET state = 'pending', available_at = 1, rev = rev + 1
        WHERE id = '${runId}' AND state = 'running'`)
    }
    woken.clear()
    return await store.runs.leaseMany(request)
  })
}

/** A run that somebody else has is worked on all the same. */
function workingWithoutLease(): Mutation {
  return afterWakeUps((store, woken) => async (request) => {
    const leased = await store.runs.leaseMany(request)
    const [runId] = woken
    woken.clear()
    const [grant] = request.grants
    if (leased.length > 0 || runId === undefined || grant === undefined) return leased
    const run = await store.runs.get(runId)
    if (run?.state !== 'running') return leased
    const lease = { secret: grant.secret, expiresAt: store.now() + run.leaseMs }
    return [{ run, lease, steps: [] }]
  })
}

type LeaseMany = Store['runs']['leaseMany']

/** `woken`: the runs that wake-ups named since. */
function afterWakeUps(
  leaseMany: (store: Store, woken: Set<string>, tamper: Tamper) => LeaseMany,
): Mutation {
  const woken = new Set<string>()
  const listened = (listener: EngineListener): EngineListener => ({
    ...listener,
    runAvailable: async (wakeUp) => {
      woken.add(wakeUp.runId)
      return await listener.runAvailable(wakeUp)
    },
  })
  return {
    engine: (engine) =>
      replaceParts(engine, {
        listen: (types, listener) => engine.listen(types, listened(listener)),
      }),
    store: (store, tamper) =>
      replaceParts(store, {
        runs: replaceParts(store.runs, { leaseMany: leaseMany(store, woken, tamper) }),
      }),
  }
}
