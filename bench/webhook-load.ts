/**
 * Webhooks as GitHub would send them. They are made before the measurement and sent over plain
 * sockets, so that the sender uses little of the machine: only the server is to be measured.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { connect, type Socket } from 'node:net'

export const webhookSecret = 'benchmark-webhook-secret'
export const adminToken = 'benchmark-admin-token'

interface Example {
  readonly name: string
  readonly examples: readonly Record<string, unknown>[]
}

/** Every webhook is the `opened` event of a different pull request, with about 20 KB. */
export function makeDeliveries(count: number, firstNumber: number): readonly Buffer[] {
  const payload = openedPullRequest()
  return Array.from({ length: count }, (_, i) => deliveryOf(payload, firstNumber + i))
}

function openedPullRequest(): Record<string, unknown> {
  const listed = createRequire(import.meta.url)('@octokit/webhooks-examples') as Example[]
  const payload = listed
    .find(({ name }) => name === 'pull_request')
    ?.examples.find(({ action }) => action === 'opened')
  if (payload === undefined) throw new Error('there is no example of an opened pull request')
  return payload
}

function deliveryOf(payload: Record<string, unknown>, number: number): Buffer {
  const pullRequest = payload['pull_request'] as Record<string, unknown>
  const head = pullRequest['head'] as Record<string, unknown>
  const sha = number.toString(16).padStart(40, '0')
  const numbered = { ...pullRequest, number, head: { ...head, sha } }
  const body = Buffer.from(JSON.stringify({ ...payload, number, pull_request: numbered }))
  const signature = createHmac('sha256', webhookSecret).update(body).digest('hex')
  const headers = [
    'POST /webhooks/github HTTP/1.1',
    'host: 127.0.0.1',
    'user-agent: GitHub-Hookshot/bench',
    'content-type: application/json',
    'x-github-event: pull_request',
    `x-github-delivery: ${randomUUID()}`,
    `x-hub-signature-256: sha256=${signature}`,
    `content-length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${headers.join('\r\n')}\r\n\r\n`), body])
}

export interface LoadResult {
  readonly perSecond: number
  readonly p99Ms: number
}

/** Every connection sends, waits for the answer and sends again; all must be answered 202. */
export async function sendAll(
  port: number,
  deliveries: readonly Buffer[],
  connections: number,
): Promise<LoadResult> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const latencies: number[] = []
  let next = 0
  const startedAt = performance.now()
  await Promise.all(
    sockets.map(async (socket) => {
      for (
        let delivery = deliveries[next++];
        delivery !== undefined;
        delivery = deliveries[next++]
      ) {
        const sentAt = performance.now()
        const status = await exchange(socket, delivery)
        latencies.push(performance.now() - sentAt)
        if (status !== 202) throw new Error(`a delivery was answered ${status}`)
      }
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  for (const socket of sockets) socket.destroy()
  latencies.sort((a, b) => a - b)
  return {
    perSecond: deliveries.length / seconds,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('connect', () => resolve(socket)).once('error', reject)
  })
}

/** Resolves with the status when the body is as long as Content-Length says. */
function exchange(socket: Socket, delivery: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = ''
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      socket.off('data', onData)
      resolve(Number(text.slice(9, 12)))
    }
    socket.on('data', onData)
    socket.once('close', () => reject(new Error('the server closed a connection')))
    socket.setMaxListeners(0)
    socket.write(delivery)
  })
}
