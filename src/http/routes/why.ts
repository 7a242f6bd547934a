/** What happened and why, in plain words. */
import { runParams, runTokenConflicts, why, whyQuery } from '../../contract.ts'
import { InvalidInputError } from '../../errors.ts'
import { explain } from '../../operations/audit/explain.ts'
import { explainRun } from '../../operations/audit/explain-run.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { invalid } from '../requests/validation.ts'

export function whyRoutes(app: App, deps: HttpDeps): void {
  app.get(
    '/v1/why',
    {
      config: { access: explain.reach },
      schema: {
        operationId: 'explain',
        tags: ['Audit'],
        summary: 'Ask what happened and why',
        description:
          'Tells in plain words what happened to a pull request, a run, a delivery or a webhook, ' +
          'why, what GitHub shows of it, what it waits for until when, and what a person can do. ' +
          'What nothing is known about is 404.',
        querystring: whyQuery,
        response: { 200: why },
      },
    },
    async (request, reply) => {
      const view = await explain(deps, callerOf(request), request.query).catch(asWrongForm)
      return reply.code(200).send(view)
    },
  )

  app.get(
    '/v1/runs/:id/why',
    {
      config: {
        access: explainRun.reach,
        conflicts: runTokenConflicts,
      },
      schema: {
        operationId: 'explainRun',
        tags: ['Runs'],
        summary: 'Ask what happened to a run and why',
        description: 'The same as `GET /v1/why` for this run.',
        params: runParams,
        response: { 200: why },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await explainRun(deps, callerOf(request), request.params)),
  )
}

/** A question in none of the forms is a wrong shape, not a wrong value. */
function asWrongForm(error: unknown): never {
  if (!(error instanceof InvalidInputError)) throw error
  throw invalid(400, [{ field: error.field, message: error.message.replace('the question ', '') }])
}
