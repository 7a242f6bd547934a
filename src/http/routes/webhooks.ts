/**
 * `POST /webhooks/github`: receives GitHub's webhooks.
 *
 * What must hold:
 * - The signature is checked over the received bytes before they are parsed.
 * - A body is read only if the headers are as GitHub sends them. All bodies that are not verified
 *   yet share one limited amount of memory.
 * - A refused webhook is not stored. A webhook that is answered with 2xx is committed.
 */
import type { FastifyRequest } from 'fastify'
import { InvalidInputError } from '../../errors.ts'
import type { App } from '../app.ts'
import { webhookAnswer } from '../../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { HttpProblem } from '../answers/problem.ts'
import { tooLarge, UnverifiedBodies, webhookBodyLimits } from '../requests/unverified-bodies.ts'
import { invalid } from '../requests/validation.ts'

const signatureHeader = 'x-hub-signature-256'
const signatureForm = /^sha256=[0-9a-f]{64}$/i
const guidForm = /^[\x21-\x7e]{1,200}$/
const eventForm = /^[a-z0-9_]{1,64}$/

export function webhookRoutes(app: App, deps: HttpDeps): void {
  const { intake, scheduler, failedAccess } = deps
  const bodies = new UnverifiedBodies(scheduler)
  // A separate function, so that a refused body can be freed while its answer is delayed.
  const signedBody = async (request: FastifyRequest): Promise<Buffer | null> => {
    const { body, release } = await bodies.read(request.raw)
    const isSigned = intake.isSigned(body, headerOf(request, signatureHeader))
    release()
    return isSigned ? body : null
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, stream, done) => done(null, stream))
  app.post(
    '/webhooks/github',
    {
      config: {
        access: 'public',
        answers: {
          200: 'A duplicate, or no run type listens to it; `reason` says why.',
          202: 'Accepted: stored, and will be processed.',
          400: 'A header of GitHub is missing, or the body is not JSON.',
          401: 'The signature is missing or wrong.',
          408: 'The body came too slowly.',
          413: 'The body is larger than 25 MB.',
          503: 'The store does not answer, or too many webhooks arrive at once (`busy`).',
        },
        refusals: [400, 401, 408, 413],
      },
      bodyLimit: webhookBodyLimits.bytesMax,
      schema: {
        operationId: 'receiveGithubWebhook',
        tags: ['Webhooks'],
        summary: 'Take a GitHub webhook',
        description:
          'For GitHub. Needs no token. Needs the signature `X-Hub-Signature-256` over the ' +
          'body with the webhook secret, and the headers `X-GitHub-Delivery` and ' +
          '`X-GitHub-Event`. A repeat is recognised. 401 for a wrong signature, 413 for more ' +
          'than 25 MB.',
        response: { 200: webhookAnswer, 202: webhookAnswer },
      },
      onRequest: async (request) => {
        const refusal = refusalBeforeBody(request)
        if (refusal?.status === 401) await failedAccess.refused(request.ip, 'signature')
        if (refusal !== undefined) throw refusal
      },
    },
    async (request, reply) => {
      const body = await signedBody(request)
      if (body === null) {
        await failedAccess.refused(request.ip, 'signature')
        throw unsigned()
      }
      const webhookId = headerOf(request, 'x-github-delivery') ?? ''
      const event = headerOf(request, 'x-github-event') ?? ''
      request.webhookId = webhookId
      const headers = githubHeaders(request)
      const answer = await intake.receive({ webhookId, event, headers, body }).catch(asBadRequest)
      return reply.code(answer.decision === 'accepted' ? 202 : 200).send({
        inbox_id: answer.inboxId,
        decision: answer.decision,
        reason: answer.reason,
        run_ids: [...answer.runIds],
      })
    },
  )
}

function refusalBeforeBody(request: FastifyRequest): HttpProblem | undefined {
  const length = Number(headerOf(request, 'content-length') ?? 0)
  if (length > webhookBodyLimits.bytesMax) return tooLarge()
  if (!signatureForm.test(headerOf(request, signatureHeader) ?? '')) return unsigned()
  return (
    wrongHeader(request, 'x-github-delivery', guidForm) ??
    wrongHeader(request, 'x-github-event', eventForm)
  )
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

function wrongHeader(request: FastifyRequest, name: string, form: RegExp): HttpProblem | undefined {
  const value = headerOf(request, name)
  if (value !== undefined && form.test(value)) return undefined
  const message = value === undefined ? 'is missing' : 'is not as GitHub sends it'
  return invalid(400, [{ field: name, message }])
}

/** The headers to store. The signature is not stored. */
function githubHeaders({ headers }: FastifyRequest): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) => name.startsWith('x-github-') || name === 'user-agent' || name === 'content-type',
  )
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]))
}

function asBadRequest(error: unknown): never {
  if (!(error instanceof InvalidInputError)) throw error
  const { code, field, message, hint } = error
  throw new HttpProblem(400, code, message, {
    errors: [{ field, message }],
    ...(hint !== undefined && { hint }),
  })
}

const unsigned = (): HttpProblem =>
  new HttpProblem(401, 'bad_signature', 'The signature is missing or wrong.', {
    hint:
      'Set the same secret in the webhook on GitHub and in GITHUB_WEBHOOK_SECRET. ' +
      'In the sandbox, sign with the secret in the file webhook-secret of the data folder.',
  })
