/**
 * The HTTP server: what happens to every request, and in which order.
 *
 * What must hold: the caller is known before the store or a body is read, even if the path does not
 * exist. Every answer has the request's id. Every refusal is a problem document. The log contains
 * no token and no body.
 */
import Fastify, {
  LogController,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { NotFoundError } from '../errors.ts'
import type { Caller } from '../operations/caller.ts'
import { checkReach, type Reach } from '../operations/reach.ts'
import type { App } from './app.ts'
import { authenticate, UnknownToken } from './access/authenticate.ts'
import { answerClientError } from './answers/client-error.ts'
import type { HttpDeps } from './deps.ts'
import { drainOnClose } from './answers/drain.ts'
import { recordEndpoints, refuseUnknown } from './requests/endpoints.ts'
import { checkIdempotencyKey } from './requests/idempotency.ts'
import { parseJsonBody } from './requests/parse-request.ts'
import { logContext, requestIds } from './requests/log-context.ts'
import { describeProblems, serveOpenApi } from './docs/openapi.ts'
import { HttpProblem, sendProblem } from './answers/problem.ts'
import { parseQuery } from './requests/parse-request.ts'
import { auditRoutes } from './routes/audit.ts'
import { catchUpRoutes } from './routes/inbox.ts'
import { claimRoutes } from './routes/runs.ts'
import { deliveryRoutes } from './routes/deliveries.ts'
import { doctorRoutes } from './routes/health.ts'
import { githubTokenRoutes } from './routes/github-token.ts'
import { healthRoutes } from './routes/health.ts'
import { holdRoutes } from './routes/hold.ts'
import { inboxRoutes } from './routes/inbox.ts'
import { metricsRoutes } from './routes/health.ts'
import { outputRoutes } from './routes/outputs.ts'
import { referenceRoutes, sendDocs } from './routes/reference.ts'
import { runRoutes } from './routes/runs.ts'
import { stepRoutes } from './routes/steps.ts'
import { tokenRoutes } from './routes/tokens.ts'
import { webhookRoutes } from './routes/webhooks.ts'
import { whyRoutes } from './routes/audit.ts'
import { checkRequest, invalid } from './requests/validation.ts'

const bodyBytesMax = 1024 * 1024
/** A caller must send its request within this time, so that slow ones do not use up connections. */
const requestTimeoutMs = 60_000

export function createHttpServer(deps: HttpDeps): App {
  const server = createServer(deps)
  recordEndpoints(server)
  server.addHook('onRoute', describeProblems)
  recordRequests(server, deps)
  drainOnClose(server, deps.stopping)
  guardRequests(server, deps)
  readRequests(server)
  server.setErrorHandler(sendProblem)
  serveOpenApi(server, deps)
  void server.register((scope, _options, done) => {
    const app = scope.withTypeProvider<ZodTypeProvider>()
    claimRoutes(app, deps)
    holdRoutes(app, deps)
    runRoutes(app, deps)
    outputRoutes(app, deps)
    stepRoutes(app, deps)
    githubTokenRoutes(app, deps)
    deliveryRoutes(app, deps)
    auditRoutes(app, deps)
    inboxRoutes(app, deps)
    whyRoutes(app, deps)
    tokenRoutes(app, deps)
    healthRoutes(app, deps)
    metricsRoutes(app, deps)
    catchUpRoutes(app, deps)
    doctorRoutes(app, deps)
    referenceRoutes(app)
    done()
  })
  // Separate, because the body of a webhook is read as bytes.
  void server.register((scope, _options, done) => {
    webhookRoutes(scope.withTypeProvider<ZodTypeProvider>(), deps)
    done()
  })
  return server.withTypeProvider<ZodTypeProvider>()
}

/**
 * Listens without Fastify's own log line, because the program logs once when all of it is ready.
 */
export async function listenOn(
  server: Pick<FastifyInstance, 'log' | 'listen'>,
  address: { readonly host: string; readonly port: number },
): Promise<void> {
  const { level } = server.log
  server.log.level = 'warn'
  try {
    await server.listen(address)
  } finally {
    server.log.level = level
  }
}

function createServer(deps: HttpDeps): FastifyInstance {
  const makeRequestId = requestIds(deps.clock, deps.random)
  return Fastify({
    // A child logger, because listenOn changes its level.
    loggerInstance: deps.log.child({}),
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'request_id',
    }),
    requestIdHeader: false,
    genReqId: makeRequestId,
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    ...(deps.trustedProxies !== null && { trustProxy: [...deps.trustedProxies] }),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // A path parameter of any length is refused by its schema, under its name.
    routerOptions: { maxParamLength: 65_536, querystringParser: parseQuery },
    clientErrorHandler: (error, socket) =>
      answerClientError(error, socket, makeRequestId({ headers: {} })),
    frameworkErrors: (error, request, reply) => {
      describeReply(request, reply)
      void refusalBefore(deps, request).then((refusal) =>
        sendProblem(refusal ?? error, request, reply),
      )
    },
  })
}

/** For an invalid path, a missing token is reported first, as for any other path. */
async function refusalBefore(deps: HttpDeps, request: FastifyRequest): Promise<unknown> {
  if (!deps.isOurHost(request.headers.host)) return wrongHost(request.headers.host)
  try {
    await authenticate(deps, request)
    return null
  } catch (refusal) {
    if (refusal instanceof UnknownToken) await deps.failedAccess.refused(request.ip, 'token')
    return refusal
  }
}

function recordRequests(server: FastifyInstance, { clock, metrics }: HttpDeps): void {
  const arrivals = new WeakMap<FastifyRequest, number>()
  server.addHook('onRequest', (request, _reply, done) => {
    arrivals.set(request, clock.monotonicMs())
    done()
  })
  server.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const { statusCode: status } = reply
    const took = clock.monotonicMs() - (arrivals.get(request) ?? clock.monotonicMs())
    const route = request.routeOptions.url ?? null
    const ms = Math.round(took)
    request.log.info({ ...logContext(request), method, route, status, ms }, 'Request')
    // The reader decides how long a stream takes, so it is not measured.
    const type = String(reply.getHeader('content-type'))
    if (!type.startsWith('text/event-stream')) {
      metrics.httpAnswered({ route, method, status, ms: took })
    }
    done()
  })
}

function describeReply(request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers({
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  })
}

/** Everything that is decided before a body is read. */
function guardRequests(server: FastifyInstance, deps: HttpDeps): void {
  server.decorateRequest('caller', null)
  server.decorateRequest('webhookId', null)
  server.addHook('onRequest', async (request, reply) => {
    describeReply(request, reply)
    const { access, asksForToken } = request.routeOptions.config
    if (access === 'public') return
    if (!deps.isOurHost(request.headers.host)) throw wrongHost(request.headers.host)
    if (isBrowserAtRoot(request)) return reply.redirect('/docs', 302)
    // GitHub sends no token, so for a wrong address it must not get 401.
    if (request.url.startsWith('/webhooks/')) refuseUnknown(server, request)
    try {
      request.caller = await authenticate(deps, request)
    } catch (error) {
      const unknown = error instanceof HttpProblem && error.status === 401
      if (error instanceof UnknownToken) await deps.failedAccess.refused(request.ip, 'token')
      if (!unknown || asksForToken !== true || !wantsHtml(request)) throw error
      return sendDocs(reply.code(401).header('www-authenticate', 'Bearer'))
    }
    refuseUnknown(server, request)
    await refuseOutOfReach(deps, access ?? { scopes: [] }, request.caller, ownId(request))
    refuseUntypedBody(request)
  })
  server.addHook('onClose', () => deps.failedAccess.flush())
  server.setNotFoundHandler((request) => refuseUnknown(server, request))
}

/**
 * The operation checks this again. Here it happens before the body is read. A run that does not
 * exist is left to the operation, which comes after the check of the request: an id or a body that
 * is wrong in form is answered as such.
 */
async function refuseOutOfReach(
  deps: HttpDeps,
  reach: Reach,
  caller: Caller,
  id: unknown,
): Promise<void> {
  try {
    await checkReach(deps, reach, caller, id)
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
  }
}

function wrongHost(host: string | undefined): HttpProblem {
  const detail = `This server is not called ${JSON.stringify(host ?? '')}.`
  return new HttpProblem(421, 'wrong_host', detail, {
    hint: 'Use its address, or set HOLDFAST_PUBLIC_URL to the one people use.',
  })
}

/** The id in the path. A run token is valid only for its own run. */
function ownId(request: FastifyRequest): unknown {
  return (request.params as Readonly<Record<string, unknown>>)['id']
}

/** There is no page at `/`, so a browser is sent to the reference page. */
function isBrowserAtRoot(request: FastifyRequest): boolean {
  const path = request.url.split('?', 1)[0]
  return request.method === 'GET' && path === '/' && wantsHtml(request)
}

function wantsHtml(request: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(request.headers.accept ?? '')
}

function refuseUntypedBody({ headers }: FastifyRequest): void {
  const length = headers['content-length']
  const sendsBody =
    headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
  if (!sendsBody || headers['content-type'] !== undefined) return
  throw new HttpProblem(400, 'content_type_missing', 'The body has no Content-Type.', {
    hint: 'Send "Content-Type: application/json".',
  })
}

function readRequests(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, parseJsonBody(request, body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  server.setValidatorCompiler(checkRequest)
  server.setSerializerCompiler(serializerCompiler)
  server.addHook('preValidation', (request, _reply, done) => {
    checkIdempotencyKey(request)
    refuseUnasked(request)
    done()
  })
}

/** Refuses a query or a body on a route that has none, instead of ignoring it. */
function refuseUnasked(request: FastifyRequest): void {
  const { schema, config } = request.routeOptions
  if (config.access === 'public') return
  const message = 'is not a known field'
  if (schema?.querystring === undefined) {
    const names = Object.keys(request.query as object)
    if (names.length > 0)
      throw invalid(
        400,
        names.map((field) => ({ field, message })),
      )
  }
  if (schema?.body === undefined && (request.body ?? undefined) !== undefined) {
    throw invalid(400, [{ field: 'body', message }])
  }
}
