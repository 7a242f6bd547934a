/**
 * A receiver of webhooks on a loopback port, over real connections. It answers 202 unless a test
 * sets another answer, and keeps every webhook.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly guid: string
  /** Event and action. */
  readonly summary: string
}

export interface Receiver {
  readonly url: string
  readonly received: readonly Received[]
  /** Creates the answers from now on. If it never ends the response, the request stays open. */
  answer: (response: ServerResponse) => void
  close(): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { headers } = request
      const { action = '' } = JSON.parse(body) as { action?: string }
      const summary = `${String(headers['x-github-event'])} ${action}`.trim()
      received.push({ headers, body, guid: String(headers['x-github-delivery']), summary })
      receiver.answer(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/github`,
    received,
    answer: (response) => response.writeHead(202).end('{}'),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}
