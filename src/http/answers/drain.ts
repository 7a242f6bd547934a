/**
 * Closing without refusing what was accepted: the server goes on listening until the requests in
 * hand when closing began are answered, and from then on keeps no connection open for another. One
 * on which nothing was ever asked (browsers open them ahead) is not waited for.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'

export function drainOnClose(server: FastifyInstance, stopping: AbortSignal | undefined): void {
  const inHand = new Map<FastifyRequest, PromiseWithResolvers<void>>()
  const silent = new Set<Socket>()
  let closing = false

  server.server.on('connection', (socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })

  server.addHook('onRequest', (request, reply, done) => {
    const ended = Promise.withResolvers<void>()
    inHand.set(request, ended)
    silent.delete(request.raw.socket)
    // Also when the caller hangs up, after which no answer is ever finished.
    reply.raw.once('close', () => {
      inHand.delete(request)
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
    await Promise.all([...inHand.values()].map(({ promise }) => promise))
    for (const socket of silent) socket.destroy()
  })
}
