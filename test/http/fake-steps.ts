/** Fake steps for the HTTP tests: one step, and the answer that the store gives about it. */
import type { Step } from '../../src/domain/step.ts'
import { NotFoundError } from '../../src/errors.ts'
import type { HttpStore } from '../../src/http/deps.ts'
import type { Runs } from '../../src/runs/runs.ts'
import { startedAt, theRunId } from './fake-facts.ts'
import type { Change, Fakes } from './fakes.ts'

export const theStep: Step = {
  runId: theRunId,
  round: 1,
  name: 'charge',
  rev: 1,
  state: 'started',
  policy: 'hold',
  attempt: 2,
  fence: 7,
  leaseHash: 'hash',
  startId: 's1',
  startedAt,
  endedAt: null,
  result: null,
  errorCode: null,
  errorText: null,
  codeVersion: 'v1',
}

type State = Pick<Fakes, 'run' | 'failure' | 'stepAnswer'> & { readonly changes: Change[] }

export function fakeStepVerbs(state: State): Pick<Runs, 'actOnStep' | 'decideStep'> {
  const find = (runId: string): void => {
    if (state.failure !== null) throw state.failure
    if (runId !== state.run.id) throw new NotFoundError('run_not_found', `no run ${runId}`)
  }
  return {
    async actOnStep(request) {
      find(request.runId)
      const { actor } = request
      state.changes.push({ verb: 'actOnStep', request, actor, once: undefined })
      return state.stepAnswer
    },
    async decideStep(request, once) {
      find(request.runId)
      state.changes.push({ verb: 'decideStep', request, actor: request.actor, once })
      return { step: { ...theStep, state: 'open' }, run: { ...state.run, state: 'pending' } }
    },
  }
}

export function fakeSteps(state: State): HttpStore['steps'] {
  const steps = (runId: string): readonly Step[] => {
    if (state.failure !== null) throw state.failure
    return runId === theRunId && state.stepAnswer.step !== null ? [state.stepAnswer.step] : []
  }
  return {
    list: async (runId, round) => steps(runId).filter((step) => step.round === (round ?? 1)),
    get: async (runId, name) => steps(runId).find((step) => step.name === name) ?? null,
  }
}
