/**
 * Closes the server without refusing accepted requests: it listens until all requests that were
 * open at the start of closing are answered. Meanwhile each answer closes its connection.
 * Connections without any request, which browsers open in advance, are closed at the end.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'

export function drainOnClose(server: FastifyInstance, stopping: AbortSignal | undefined): void {
  const openRequests = new Map<FastifyRequest, PromiseWithResolvers<void>>()
  const socketsWithoutRequest = new Set<Socket>()
  let closing = false

  server.server.on('connection', (socket) => {
    socketsWithoutRequest.add(socket)
    socket.once('close', () => socketsWithoutRequest.delete(socket))
  })

  server.addHook('onRequest', (request, reply, done) => {
    const ended = Promise.withResolvers<void>()
    openRequests.set(request, ended)
    socketsWithoutRequest.delete(request.raw.socket)
    // `close` also comes if the caller disconnects and the answer is never finished.
    reply.raw.once('close', () => {
      openRequests.delete(request)
      ended.resolve()
    })
    done()
  })

  server.addHook('onSend', (_request, reply, payload, done) => {
    if (closing || stopping?.aborted === true) void reply.header('connection', 'close')
    done(null, payload)
  })

  server.addHook('preClose', async () => {
    closing = true
    await Promise.all([...openRequests.values()].map(({ promise }) => promise))
    for (const socket of socketsWithoutRequest) socket.destroy()
  })
}
