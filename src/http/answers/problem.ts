/**
 * Answers every refusal and failure with a problem document.
 *
 * What must hold: after an unexpected error the caller sees only the request id. The log has the
 * details under that id.
 */
import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ConflictError, GitHubUnavailableError, InvalidInputError } from '../../errors.ts'
import type { HoldfastError } from '../../errors.ts'
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
  /** Further members of the document, for programs. */
  readonly members?: Readonly<Record<string, string | number>>
}

/** A refusal by the HTTP layer itself. */
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

const retryAfterDefaultMs = 1000

/** Refusals by the framework, in our words. */
const frameworkProblems: Readonly<Record<string, HttpProblem>> = {
  FST_ERR_BAD_URL: new HttpProblem(400, 'bad_url', 'The path is not valid percent-encoded UTF-8.'),
  FST_ERR_CTP_BODY_TOO_LARGE: new HttpProblem(
    413,
    'body_too_large',
    'The body is larger than 1 MiB.',
    { hint: 'Store large data elsewhere, and send a reference to it.' },
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

/** The problem that the caller may see, or null for an unexpected error. */
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
    ...(status === 503 && { headers: { 'retry-after': retryAfterOf(error) } }),
    ...(error instanceof InvalidInputError && { errors: [fieldErrorOf(error)] }),
    ...(error instanceof ConflictError && { members: error.members }),
  })
}

/** In whole seconds. */
function retryAfterOf(error: HoldfastError): string {
  const ms = error instanceof GitHubUnavailableError ? error.retryAfterMs : retryAfterDefaultMs
  return String(Math.max(1, Math.ceil(ms / 1000)))
}

/** Removes the field's name from the start of the message, because the answer has it separately. */
function fieldErrorOf({ field, message }: InvalidInputError): FieldError {
  const named = `${field} `
  return { field, message: message.startsWith(named) ? message.slice(named.length) : message }
}

export function problemDocument(problem: HttpProblem, requestId: string): string {
  const { errors, hint, members } = problem.options
  const document: Problem = {
    ...members,
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
  const expected = asProblem(error)
  if (expected === null || expected.status === 503) {
    request.log.error({ ...logContext(request), err: error }, 'Request failed')
  }
  const problem =
    expected ??
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
