/** Tells a long-poll or stream when to end: its caller disconnected, or the server stops. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../app.ts'
import { endedToken } from '../access/authenticate.ts'
import type { HttpDeps } from '../deps.ts'

export interface HeldRequest {
  readonly signal: AbortSignal
  /** Throws if the caller's token ended meanwhile, so that the caller gets no answer. */
  check(): void
}

/** For a request that may stay open. It also ends when the caller's token ends. */
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
  // If the caller has already disconnected, no event will come.
  if (reply.raw.destroyed) {
    abort()
    return controller.signal
  }
  stopping?.addEventListener('abort', abort, { once: true })
  reply.raw.once('close', () => {
    // The server's signal lives longer than the request, so the listener must be removed.
    stopping?.removeEventListener('abort', abort)
    abort()
  })
  return controller.signal
}
