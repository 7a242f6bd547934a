/**
 * Every refusal and failure as a problem document, and the one table from an error to its status.
 *
 * What must hold: an error that is not expected tells the caller nothing but the request id, under
 * which the log has the rest.
 */
import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  ConflictError,
  ForbiddenError,
  HoldfastError,
  InvalidInputError,
  NotFoundError,
  StoreContendedError,
  StoreUnavailableError,
  UnauthorizedError,
} from '../errors.ts'
import type { Problem } from './contract.ts'
import { logContext } from './log-context.ts'

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

const statusOfClass = [
  [UnauthorizedError, 401],
  [ForbiddenError, 403],
  [ConflictError, 409],
  [NotFoundError, 404],
  [InvalidInputError, 422],
  [StoreContendedError, 503],
  [StoreUnavailableError, 503],
] as const

const retryAfter = { 'retry-after': '1' }

/** What the framework refuses by itself, in our words. */
const frameworkProblems: Readonly<Record<string, HttpProblem>> = {
  FST_ERR_BAD_URL: new HttpProblem(400, 'bad_url', 'The path is not valid percent-encoded UTF-8.'),
  FST_ERR_CTP_BODY_TOO_LARGE: new HttpProblem(413, 'body_too_large', 'A body is at most 1 MiB.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: new HttpProblem(
    400,
    'bad_content_length',
    'The body is not as long as Content-Length says.',
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new HttpProblem(
    415,
    'unsupported_media_type',
    'A body is sent as application/json.',
    { hint: 'Send "Content-Type: application/json".' },
  ),
}

/** The error as the caller may see it; null when it is none of theirs to know. */
function asProblem(error: unknown): HttpProblem | null {
  if (error instanceof HttpProblem) return error
  if (error instanceof HoldfastError) {
    const status = statusOfClass.find(([type]) => error instanceof type)?.[1]
    if (status === undefined) return null
    return new HttpProblem(status, error.code, error.message, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      ...(status === 503 ? { headers: retryAfter } : {}),
      ...(error instanceof InvalidInputError
        ? { errors: [{ field: error.field, message: error.message }] }
        : {}),
    })
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return frameworkProblems[code] ?? null
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
    new HttpProblem(500, 'internal_error', 'Something went wrong here; the log has the details.')
  for (const [name, value] of Object.entries(problem.options.headers ?? {})) {
    void reply.header(name, value)
  }
  return reply.code(problem.status).type(problemType).send(problemDocument(problem, request.id))
}
