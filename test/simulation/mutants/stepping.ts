/** Mutants of steps: when a result is stored, who may do a step, and what a doubt leads to. */
import type { StepPolicy } from '../../../src/domain/step.ts'
import { ConflictError } from '../../../src/errors.ts'
import type { Tamper } from '../../../src/simulation/node.ts'
import { replaceParts } from '../../../src/simulation/replace-parts.ts'
import type { StepAnswer, StepRequest, Store } from '../../../src/store.ts'
import type { Mutants } from './mutant.ts'

type Act = Store['steps']['act']

const withAct = (store: Store, act: Act): Store =>
  replaceParts(store, { steps: replaceParts(store.steps, { act }) })

export const steppingMutants: Mutants = {
  'a step with confirm or hold goes on before its result is stored': {
    seed: 1,
    mutation: { store: (store) => withAct(store, resultWithNextWrite(store)) },
    rules: ['9'],
  },
  'a late result replaces that of the new holder': {
    seed: 9,
    mutation: { store: (store, tamper) => withAct(store, lateResultCounts(store, tamper)) },
    rules: ['9'],
  },
  'a recorded result is not returned to a later attempt': {
    seed: 1,
    mutation: {
      store: (store) =>
        replaceParts(withAct(store, resultForgotten(store)), {
          runs: replaceParts(store.runs, {
            leaseMany: async (request) =>
              (await store.runs.leaseMany(request)).map((answer) => ({ ...answer, steps: [] })),
          }),
        }),
    },
    rules: ['9'],
  },
  'a step in doubt that should be held is done again': {
    seed: 1,
    mutation: { store: (store) => withAct(store, doubtIgnored(store, 'hold')) },
    rules: ['9'],
  },
  'a step in doubt that should be confirmed is done again': {
    seed: 4,
    mutation: { store: (store) => withAct(store, doubtIgnored(store, 'confirm')) },
    rules: ['9'],
  },
  'the beginning of a step is stored only with its result': {
    seed: 1,
    mutation: { store: (store) => withAct(store, beginningWithResult(store)) },
    rules: ['9'],
  },
  'a holder is never told that it has lost its run': {
    seed: 3,
    mutation: {
      store: (store) =>
        replaceParts(withAct(store, lossIgnored(store)), {
          runs: replaceParts(store.runs, {
            lostHolds: () => Promise.resolve([]),
            heartbeat: heartbeatOfAnyone(store),
          }),
        }),
    },
    rules: ['9'],
  },
  'a take-over is not in the audit': {
    seed: 4,
    mutation: { store: (store, tamper) => withAct(store, unauditedTakeOver(store, tamper)) },
    rules: ['9'],
  },
}

const isResult = ({ action }: StepRequest): boolean => action.do === 'record'

/** As with `repeat`: one commit carries the result and the next beginning. */
function resultWithNextWrite(store: Store): Act {
  const waiting = new Map<string, StepRequest>()
  return async (request) => {
    const earlier = waiting.get(request.runId)
    waiting.delete(request.runId)
    if (earlier !== undefined) await store.steps.act(earlier)
    if (!isResult(request)) return await store.steps.act(request)
    waiting.set(request.runId, request)
    return { reply: 'recorded', step: null }
  }
}

function lateResultCounts(store: Store, tamper: Tamper): Act {
  return async (request) => {
    const { action, runId, name } = request
    try {
      return await store.steps.act(request)
    } finally {
      if (action.do === 'record') {
        await tamper(`UPDATE step SET result = '${action.result}', rev = rev + 1
          WHERE run_id = '${runId}' AND name = '${name}' AND state = 'done'`)
      }
    }
  }
}

function resultForgotten(store: Store): Act {
  return async (request) => {
    const answer = await store.steps.act(request)
    if (request.action.do !== 'begin' || answer.reply !== 'known') return answer
    return { reply: 'began', step: null }
  }
}

function doubtIgnored(store: Store, policy: StepPolicy): Act {
  return async (request) => {
    const answer = await store.steps.act(request)
    const { action } = request
    const isDoubt = action.do === 'begin' && answer.reply === 'in-doubt'
    if (!isDoubt || action.policy !== policy) return answer
    return await store.steps.act({ ...request, action: { ...action, do: 'take-over' } })
  }
}

function beginningWithResult(store: Store): Act {
  const begun = new Map<string, StepRequest>()
  return async (request): Promise<StepAnswer> => {
    const { action, startId } = request
    if (action.do === 'begin' && (await store.steps.get(request.runId, request.name)) === null) {
      begun.set(startId, request)
      return { reply: 'began', step: null }
    }
    const beginning = begun.get(startId)
    begun.delete(startId)
    if (beginning !== undefined) await store.steps.act(beginning)
    return await store.steps.act(request)
  }
}

function lossIgnored(store: Store): Act {
  return async (request) => {
    try {
      return await store.steps.act(request)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
      return { reply: isResult(request) ? 'recorded' : 'began', step: null }
    }
  }
}

function heartbeatOfAnyone(store: Store): Store['runs']['heartbeat'] {
  return async (request, once) => {
    try {
      return await store.runs.heartbeat(request, once)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
      return { fence: 0, leaseMs: 30_000, expiresAt: store.now() + 30_000 }
    }
  }
}

function unauditedTakeOver(store: Store, tamper: Tamper): Act {
  return async (request) => {
    const answer = await store.steps.act(request)
    if (request.action.do === 'take-over') {
      await tamper(`DELETE FROM audit WHERE run_id = '${request.runId}'
        AND type IN ('step.in_doubt', 'step.taken_over')`)
    }
    return answer
  }
}
