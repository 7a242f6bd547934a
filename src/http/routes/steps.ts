/** The steps of a run: for its holder, for readers, and for the person who decides. */
import {
  confirmStepBody,
  decidedStep,
  failStepBody,
  holderConflicts,
  noFields,
  runParams,
  runTokenConflicts,
  stepAnswer,
  stepBody,
  stepList,
  stepParams,
  stepsQuery,
  stepWithResult,
} from '../../contract.ts'
import {
  actOnStep,
  confirmStep,
  failStep,
  getStep,
  listSteps,
  repeatStep,
} from '../../operations/steps.ts'
import type { StepBody } from '../../contract/steps.ts'
import { ConflictError } from '../../errors.ts'
import { refuseIfEnded } from '../access/authenticate.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../requests/idempotency.ts'

export function stepRoutes(app: App, deps: HttpDeps): void {
  readRoutes(app, deps)
  holderRoute(app, deps)
  decisionRoutes(app, deps)
}

function readRoutes(app: App, deps: HttpDeps): void {
  app.get(
    '/v1/runs/:id/steps',
    {
      config: { access: listSteps.reach, conflicts: runTokenConflicts },
      schema: {
        operationId: 'listSteps',
        tags: ['Runs'],
        summary: 'List the steps of a run',
        description: 'In the order in which they were begun, without their results.',
        params: runParams,
        querystring: stepsQuery,
        response: { 200: stepList },
      },
    },
    async (request, reply) => {
      const input = { ...request.params, ...request.query }
      return reply.code(200).send(await listSteps(deps, callerOf(request), input))
    },
  )

  app.get(
    '/v1/runs/:id/steps/:name',
    {
      config: { access: getStep.reach, conflicts: runTokenConflicts },
      schema: {
        operationId: 'getStep',
        tags: ['Runs'],
        summary: 'Get a step',
        description: 'Of the current round, with its result.',
        params: stepParams,
        response: { 200: stepWithResult },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await getStep(deps, callerOf(request), request.params)),
  )
}

function holderRoute(app: App, deps: HttpDeps): void {
  app.put(
    '/v1/runs/:id/steps/:name',
    {
      config: {
        access: actOnStep.reach,
        conflicts: [...holderConflicts, 'step_in_doubt', 'step_late', 'step_not_begun'],
        answers: {
          200:
            'What the step is now. `started`: do it. `done`: use its result. `failed`: it ' +
            'failed before. `held`: stop working, a person decides.',
        },
      },
      schema: {
        operationId: 'actOnStep',
        tags: ['Work'],
        summary: 'Begin a step, or store its result',
        description:
          'A step is a named piece of the work whose result is stored: a later attempt of the ' +
          'same round gets the result and does not do it again. Begin it before you do ' +
          'anything, and send its result or error afterwards with the same `start_id`. Each ' +
          'request may be repeated. If an earlier holder began it and left no result, the ' +
          'answer is 409 `step_in_doubt`; then send `take_over`, `confirmed` or `held`. A ' +
          'result is stored even if you lost the run meanwhile (the answer is 409 all the ' +
          'same), unless the step was begun again: what happened must not happen twice.',
        params: stepParams,
        body: stepBody,
        response: { 200: stepAnswer },
      },
    },
    async (request, reply) => {
      const input = { ...request.params, body: request.body }
      const caller = callerOf(request)
      try {
        return await reply.code(200).send(await actOnStep(deps, caller, input))
      } catch (error) {
        // A result may have been stored, and its 409 says how the run was lost.
        const isRefused = error instanceof ConflictError && !isResult(request.body)
        if (isRefused) await refuseIfEnded(deps, caller)
        throw error
      }
    },
  )
}

const isResult = (body: StepBody): boolean =>
  ('result' in body && !('confirmed' in body)) || 'error' in body

const decisionConflicts = ['step_not_held', 'not_active'] as const

function decisionRoutes(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.post(
    '/v1/runs/:id/steps/:name/confirm',
    {
      config: { access: confirmStep.reach, conflicts: decisionConflicts },
      schema: {
        operationId: 'confirmStep',
        tags: ['Runs'],
        summary: 'Confirm a held step',
        description:
          'You found out that it was done. The run goes on in the same attempt with this result.',
        params: stepParams,
        body: confirmStepBody,
        response: { 200: decidedStep },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const input = { ...request.params, ...request.body }
      return reply.code(200).send(await confirmStep(deps, callerOf(request), input, { once }))
    },
  )

  app.post(
    '/v1/runs/:id/steps/:name/repeat',
    {
      config: { access: repeatStep.reach, conflicts: decisionConflicts },
      schema: {
        operationId: 'repeatStep',
        tags: ['Runs'],
        summary: 'Repeat a held step',
        description:
          'You found out that it was not done. The run goes on in the same attempt and does it ' +
          'again, with the same key.',
        params: stepParams,
        body: noFields,
        response: { 200: decidedStep },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await repeatStep(deps, callerOf(request), request.params, { once })
      return reply.code(200).send(view)
    },
  )

  app.post(
    '/v1/runs/:id/steps/:name/fail',
    {
      config: { access: failStep.reach, conflicts: decisionConflicts },
      schema: {
        operationId: 'failStep',
        tags: ['Runs'],
        summary: 'Fail a held step',
        description:
          'The run goes on in the same attempt and gets the error `step_failed` for this step.',
        params: stepParams,
        body: failStepBody,
        response: { 200: decidedStep },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const input = { ...request.params, ...request.body }
      return reply.code(200).send(await failStep(deps, callerOf(request), input, { once }))
    },
  )
}
