/** Fires when holding a request on has no point: its caller left, or we are leaving. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../app.ts'
import { endedToken } from '../access/authenticate.ts'
import type { HttpDeps } from '../deps.ts'

export interface HeldRequest {
  readonly signal: AbortSignal
  /** Throws when the caller's token ended meanwhile: nothing is answered to it. */
  check(): void
}

/** For a request that may be held open: it also ends with the token it was made with. */
export function heldRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { stopping, tokenWatch }: Pick<HttpDeps, 'stopping' | 'tokenWatch'>,
): HeldRequest {
  const gone = goneSignal(reply, stopping)
  const caller = callerOf(request)
  const tokenId = caller.kind === 'admin' ? null : caller.tokenId
  if (tokenId === null) return { signal: gone, check: () => undefined }
  const { ended, release } = tokenWatch.watch(tokenId)
  if (reply.raw.destroyed) release()
  else reply.raw.once('close', release)
  return {
    signal: AbortSignal.any([gone, ended]),
    check: () => {
      if (ended.aborted) throw endedToken()
    },
  }
}

export function goneSignal(reply: FastifyReply, stopping: AbortSignal | undefined): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  if (stopping?.aborted === true) abort()
  // Gone already: no event will say so later.
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
