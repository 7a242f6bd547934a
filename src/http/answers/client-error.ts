/**
 * Answers requests that are not valid HTTP or too slow. No route is reached, so it is done here.
 */
import type { Socket } from 'node:net'
import { STATUS_CODES } from 'node:http'
import { HttpProblem, problemDocument, problemType } from './problem.ts'

const problems: Readonly<Record<string, HttpProblem>> = {
  ERR_HTTP_REQUEST_TIMEOUT: new HttpProblem(408, 'request_timeout', 'The request came too slowly.'),
  HPE_HEADER_OVERFLOW: new HttpProblem(431, 'headers_too_large', 'The headers are too large.'),
}
const badHttp = new HttpProblem(400, 'bad_http', 'This is not valid HTTP.')

export function answerClientError(
  error: Error & { readonly code?: string },
  socket: Socket,
  requestId: string,
): void {
  // If an answer has already begun, further bytes would count as a part of it.
  const answered = '_httpMessage' in socket && socket._httpMessage !== null
  if (error.code === 'ECONNRESET' || !socket.writable || answered) {
    socket.destroy(error)
    return
  }
  const problem = problems[error.code ?? ''] ?? badHttp
  const body = problemDocument(problem, requestId)
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`,
      `content-type: ${problemType}`,
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      'x-content-type-options: nosniff',
      'cache-control: no-store',
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
