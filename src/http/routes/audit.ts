/** The audit as a list and as a stream, and `why`: what happened and why, in plain words. */
import { z } from 'zod'
import {
  auditList,
  auditQuery,
  auditStreamHeaders,
  auditStreamQuery,
  runParams,
  runTokenConflicts,
  why,
  whyQuery,
} from '../../contract.ts'
import { explain, explainRun, followAudit, listAudit } from '../../operations/audit.ts'
import { sendNews } from '../answers/event-stream.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { heldRequest } from '../requests/held-request.ts'
import { InvalidInputError } from '../../errors.ts'
import { invalid } from '../requests/validation.ts'

export function auditRoutes(app: App, deps: HttpDeps): void {
  listRoute(app, deps)
  streamRoute(app, deps)
}

function listRoute(app: App, deps: HttpDeps): void {
  app.get(
    '/v1/audit',
    {
      config: { access: listAudit.reach },
      schema: {
        operationId: 'listAudit',
        tags: ['Audit'],
        summary: 'List audit events',
        description: 'What happened to runs, deliveries and tokens, by whom, newest first.',
        querystring: auditQuery,
        response: { 200: auditList },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await listAudit(deps, callerOf(request), request.query)),
  )
}

function streamRoute(app: App, deps: HttpDeps): void {
  app.get(
    '/v1/audit/stream',
    {
      exposeHeadRoute: false,
      config: {
        access: followAudit.reach,
        answers: { 200: 'Events, for as long as the connection lasts.' },
      },
      schema: {
        operationId: 'followAudit',
        tags: ['Audit'],
        summary: 'Follow audit events',
        description:
          'Server-sent events, as they are committed: `id` is the order, `event` the type and ' +
          '`data` an item of the list. Connect again with the last `id`: nothing is lost or ' +
          'repeated. Without an id the stream begins with what happens from now on. At the ' +
          'start, and after every 15 seconds without an event, a `ping` without data gives ' +
          'the id to continue from.',
        querystring: auditStreamQuery,
        headers: auditStreamHeaders,
        response: {
          200: { description: 'Events.', content: { 'text/event-stream': { schema: z.string() } } },
        },
      },
    },
    async (request, reply) => {
      const { after: asked = null, ...query } = request.query
      // When a browser connects again, it sends this header and the first address.
      const after = request.headers['last-event-id'] ?? asked
      const { signal } = heldRequest(request, reply, deps)
      const news = await followAudit(deps, callerOf(request), { ...query, after }, { signal })
      return sendNews(reply, news, signal)
    },
  )
}

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

/** If the question has none of the known forms, the answer is 400 and not 422. */
function asWrongForm(error: unknown): never {
  if (!(error instanceof InvalidInputError)) throw error
  throw invalid(400, [{ field: error.field, message: error.message.replace('the question ', '') }])
}
