/** Fires when holding a request on has no point: its caller left, or we are leaving. */
import type { FastifyReply } from 'fastify'

export function goneSignal(reply: FastifyReply, stopping: AbortSignal | undefined): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  if (stopping?.aborted === true) abort()
  // Gone before we came to ask: nothing more will be told of it.
  if (reply.raw.destroyed) {
    abort()
    return controller.signal
  }
  stopping?.addEventListener('abort', abort, { once: true })
  reply.raw.once('close', () => {
    // The server's signal outlives every request; a listener left on it would too.
    stopping?.removeEventListener('abort', abort)
    abort()
  })
  return controller.signal
}
