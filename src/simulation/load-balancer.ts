/**
 * The load balancer before the nodes: it passes each webhook to a node that is up. It checks
 * signature and headers as the HTTP server does; only the socket is missing.
 */
import { HoldfastError } from '../errors.ts'
import type { World } from './world.ts'

export function createLoadBalancer(world: World): typeof globalThis.fetch {
  const random = world.random.fork()
  return async (_url, init) => {
    const node = world.someNode(random)
    const running = node?.running ?? null
    const headers = new Headers(init?.headers)
    const guid = headers.get('x-github-delivery') ?? ''
    const event = headers.get('x-github-event') ?? ''
    if (node === null || running === null) {
      world.story.add('balancer', `no node is up for webhook ${guid}`)
      throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
    }
    const body = Buffer.from(init?.body as string)
    const signature = headers.get('x-hub-signature-256') ?? undefined
    if (!running.intake.isSigned(body, signature)) return new Response(null, { status: 401 })
    world.reportStep(node, 'before storing webhook', event)
    try {
      const plainHeaders = Object.fromEntries(headers)
      const answer = await running.intake.receive({
        webhookId: guid,
        event,
        headers: plainHeaders,
        body,
      })
      world.story.add('balancer', `webhook ${guid} ${event}: ${answer.decision}`)
      const status = answer.decision === 'accepted' ? 202 : 200
      return new Response(JSON.stringify({ decision: answer.decision }), { status })
    } catch (error) {
      world.story.add('balancer', `webhook ${guid} ${event}: ${String(error)}`)
      return new Response(null, { status: error instanceof HoldfastError ? 503 : 500 })
    }
  }
}
