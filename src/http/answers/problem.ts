/**
 * Every refusal and failure as a problem document.
 *
 * What must hold: an error that is not expected shows the caller nothing but the request id, under
 * which the log has the rest.
 */
import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { InvalidInputError, type HoldfastError } from '../../errors.ts'
import type { Problem } from '../../contract.ts'
import { problemKindOf, type ProblemKind } from '../../contract/problems.ts'
import { logContext } from '../requests/log-context.ts'

export interface FieldError {
  readonly field: string
  readonly message: string
}

interface HttpProblemOptions {
  readonly errors?: readonly FieldError[]
  readonly hint?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A refusal that the door itself decides on. */
export class HttpProblem extends Error {
  readonly status: number
  readonly code: string
  readonly options: HttpProblemOptions

  constructor(status: number, code: string, detail: string, options: HttpProblemOptions = {}) {
    super(detail)
    this.status = status
    this.code = code
    this.options = options
  }
}

export const problemType = 'application/problem+json; charset=utf-8'

const retryAfter = { 'retry-after': '1' }

/** What the framework refuses by itself, in our words. */
const frameworkProblems: Readonly<Record<string, HttpProblem>> = {
  FST_ERR_BAD_URL: new HttpProblem(400, 'bad_url', 'The path is not valid percent-encoded UTF-8.'),
  FST_ERR_CTP_BODY_TOO_LARGE: new HttpProblem(
    413,
    'body_too_large',
    'The body is larger than 1 MiB.',
  ),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: new HttpProblem(
    400,
    'bad_content_length',
    'The length of the body differs from Content-Length.',
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new HttpProblem(
    415,
    'unsupported_media_type',
    'The body must be application/json.',
    { hint: 'Send "Content-Type: application/json".' },
  ),
}

/** The error as the caller may see it; null when it is none of theirs to know. */
function asProblem(error: unknown): HttpProblem | null {
  if (error instanceof HttpProblem) return error
  const kind = problemKindOf(error)
  if (kind !== null) return ofKind(error as HoldfastError, kind)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return frameworkProblems[code] ?? null
}

function ofKind(error: HoldfastError, { status }: ProblemKind): HttpProblem {
  const { code, message, hint } = error
  return new HttpProblem(status, code, message, {
    ...(hint !== undefined && { hint }),
    ...(status === 503 && { headers: retryAfter }),
    ...(error instanceof InvalidInputError && { errors: [fieldErrorOf(error)] }),
  })
}

/** The message begins with the field's name, which is given beside it here. */
function fieldErrorOf({ field, message }: InvalidInputError): FieldError {
  const named = `${field} `
  return { field, message: message.startsWith(named) ? message.slice(named.length) : message }
}

export function problemDocument(problem: HttpProblem, requestId: string): string {
  const { errors, hint } = problem.options
  const document: Problem = {
    title: STATUS_CODES[problem.status] ?? 'Error',
    status: problem.status,
    detail: problem.message,
    code: problem.code,
    request_id: requestId,
    ...(errors === undefined ? {} : { errors: [...errors] }),
    ...(hint === undefined ? {} : { hint }),
  }
  return JSON.stringify(document)
}

export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const known = asProblem(error)
  if (known === null || known.status === 503) {
    request.log.error({ ...logContext(request), err: error }, 'Request failed')
  }
  const problem =
    known ??
    new HttpProblem(
      500,
      'internal_error',
      "Something went wrong; the server's log has the details.",
    )
  for (const [name, value] of Object.entries(problem.options.headers ?? {})) {
    void reply.header(name, value)
  }
  return reply.code(problem.status).type(problemType).send(problemDocument(problem, request.id))
}
