/** What a log line says about a request: its id, and the run or webhook that it is about. */
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../clock.ts'
import { makeId } from '../../ids.ts'
import type { Random } from '../../random.ts'

/** The caller's own id if it is safe to log and return, or else a new one. */
export function requestIds(clock: Clock, random: Random) {
  return (request: Pick<IncomingMessage, 'headers'>): string => {
    const given = request.headers['x-request-id']
    if (typeof given === 'string' && /^[A-Za-z0-9._-]{1,100}$/.test(given)) return given
    return makeId('req', clock.wallMs(), random)
  }
}

/** A path can contain any text of any length, so only such an id is logged. */
const idForm = /^[A-Za-z0-9_-]{1,100}$/

export function logContext(request: FastifyRequest): Readonly<Record<string, string>> {
  const { webhookId, params, routeOptions } = request
  if (webhookId !== null) return { webhook_id: webhookId }
  const id = (params as { readonly id?: unknown } | undefined)?.id
  const isRun = routeOptions.url?.startsWith('/v1/runs/:id') === true
  return isRun && typeof id === 'string' && idForm.test(id) ? { run_id: id } : {}
}
