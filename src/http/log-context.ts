/** What a log line about a request is about, besides the request: the run or the webhook. */
import type { FastifyRequest } from 'fastify'

/** A path may hold anything, of any length. */
const idForm = /^[A-Za-z0-9_-]{1,100}$/

export function logContext(request: FastifyRequest): Readonly<Record<string, string>> {
  const { webhookId, params, routeOptions } = request
  if (webhookId !== null) return { webhook_id: webhookId }
  const id = (params as { readonly id?: unknown } | undefined)?.id
  const isRun = routeOptions.url?.startsWith('/v1/runs/:id') === true
  return isRun && typeof id === 'string' && idForm.test(id) ? { run_id: id } : {}
}
