/**
 * The connection over real sockets: it turns an outcome into an HTTP answer, a broken connection or
 * no answer.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scheduler } from '../../scheduler.ts'
import type { Receive } from './exchange.ts'
import type { Outcome } from './faults/fault.ts'
import { splitBody } from './split-body.ts'
import { readUrl } from './request.ts'

export interface ServeOptions {
  /** 127.0.0.1 if absent. */
  readonly host?: string
  /** A free port if absent. */
  readonly port?: number
}

export interface ServedSimulator {
  readonly url: string
  close(): Promise<void>
}

export async function serve(
  receive: Receive,
  scheduler: Scheduler,
  { host = '127.0.0.1', port = 0 }: ServeOptions,
): Promise<ServedSimulator> {
  const server = createServer((request, response) => {
    answer(receive, scheduler, request, response).catch((error: unknown) => {
      // A mistake in a test's own fault or observer: the test sees it in the answer.
      response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(`The simulator failed: ${String(error)}`)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const bound = server.address() as AddressInfo
  return {
    url: `http://${host}:${bound.port}`,
    close: async () => {
      // Also closes connections that a fault leaves hanging.
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(
  receive: Receive,
  scheduler: Scheduler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request)
  // The sender closed the connection before its request was complete.
  if (body === null) return
  const url = new URL(request.url ?? '/', `http://${request.headers.host ?? 'localhost'}`)
  const outcome = await receive({
    ...readUrl(url),
    method: request.method ?? 'GET',
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    ),
    body,
  })
  send(outcome, scheduler, response)
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer)
  } catch {
    return null
  }
  return Buffer.concat(chunks).toString()
}

function send(outcome: Outcome, scheduler: Scheduler, response: ServerResponse): void {
  switch (outcome.kind) {
    case 'reset':
    case 'refused':
      response.socket?.resetAndDestroy()
      return
    case 'hang':
      return
    case 'answer': {
      const { status, headers, body } = outcome.answer
      const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(body) }
      response.writeHead(status, { ...headers, ...length })
      response.end(body)
      return
    }
    case 'slow-body':
      sendSlowly(outcome, scheduler, response)
  }
}

function sendSlowly(
  outcome: Outcome & { readonly kind: 'slow-body' },
  scheduler: Scheduler,
  response: ServerResponse,
): void {
  const { status, headers, body } = outcome.answer
  const parts = splitBody(outcome)
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  response.flushHeaders()
  const next = (): void => {
    const part = parts.shift()
    if (part !== undefined) {
      response.write(part)
      stop = scheduler.after(outcome.pauseMs, next)
    } else if (outcome.cut) response.socket?.destroy()
    else response.end()
  }
  let stop = scheduler.after(outcome.pauseMs, next)
  response.once('close', () => stop())
}
