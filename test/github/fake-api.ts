/**
 * A GitHub on a loopback port that returns what a test scripts, over real connections. A call that
 * is not scripted is a 500, which no test accepts as an answer of GitHub.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The JSON that was sent; null without a body. */
  readonly body: unknown
}

export interface FakeAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text is sent unchanged, anything else as JSON. */
  readonly body?: unknown
}

export type Answering = (response: ServerResponse, seen: Seen) => void

export interface FakeApi {
  readonly url: string
  readonly seen: readonly Seen[]
  /** Each request as `METHOD /path`, in the order of arrival. */
  calls(): string[]
  /** Several answers are returned one after the other, and the last one from then on. */
  on(call: string, ...answers: readonly (FakeAnswer | Answering)[]): void
  close(): Promise<void>
}

export async function startFakeApi(): Promise<FakeApi> {
  const seen: Seen[] = []
  const scripts = new Map<string, (FakeAnswer | Answering)[]>()
  const server = createServer((request, response) => {
    void text(request).then((sent) => answer(request, sent, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  function answer(request: IncomingMessage, sent: string, response: ServerResponse): void {
    const { method = '', url: path = '', headers } = request
    const body: unknown = sent === '' ? null : JSON.parse(sent)
    const call: Seen = { method, path, headers, body }
    seen.push(call)
    const answers = scripts.get(`${method} ${path}`) ?? [{ status: 500, body: 'not scripted' }]
    const next = answers.length > 1 ? answers.shift() : answers[0]
    if (typeof next === 'function') next(response, call)
    else say(response, next ?? {})
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    calls: () => seen.map(({ method, path }) => `${method} ${path}`),
    on: (call, ...answers) => void scripts.set(call, [...answers]),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function say(
  response: ServerResponse,
  { status = 200, headers, body = {} }: FakeAnswer,
): void {
  const isText = typeof body === 'string'
  const type = isText ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8'
  response.writeHead(status, {
    'content-type': type,
    'x-github-request-id': 'ABCD:1234:5678',
    ...headers,
  })
  response.end(isText ? body : JSON.stringify(body))
}
