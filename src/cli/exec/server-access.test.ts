/** Goal: what a proxy answers in Holdfast's place ends nothing; only Holdfast itself refuses. */
import { describe, expect, it } from 'vitest'
import { systemScheduler } from '../../scheduler.ts'
import { serverClient } from '../connection/server-client.ts'
import { isAway, type RunAccess } from './run-access.ts'
import { serverAccess } from './server-access.ts'

const work = { sent: {}, claim: { key: 'k', type: 'build' } }
const signal = new AbortController().signal
const renewal = { runId: 'r', leaseToken: 't', leaseMs: 6000, waitMs: 0, answerMs: 1000 }
const lease = { runId: 'r', worker: 'me', leaseMs: 6000, waitMs: 0 }
const calls: readonly (readonly [string, (access: RunAccess) => Promise<unknown>])[] = [
  ['claim', (access) => access.claim(work, 6000, 'key')],
  ['lease', (access) => access.lease(lease, 'key', signal)],
  ['run', (access) => access.run('r')],
  ['heartbeat', (access) => access.heartbeat(renewal, signal)],
  ['complete', (access) => access.complete('r', { outcome: 'succeeded', lease_token: 't' })],
]

function errorOf(call: (access: RunAccess) => Promise<unknown>, response: Response) {
  const fetch = (): Promise<Response> => Promise.resolve(response)
  const access = serverAccess(serverClient({ fetch, scheduler: systemScheduler }, 'http://a', 't'))
  return call(access).then(
    () => null,
    (error: unknown) => error,
  )
}

const run = { id: 'r', key: 'k', type: 'build', subject: 'k', state: 'running' }
const html = { 'content-type': 'text/html' }

describe.each(calls)('%s', (name, call) => {
  it.each([302, 401, 403, 404, 408, 413, 429, 500, 502, 520])(
    'answered %i without a problem of Holdfast may work later',
    async (status) => {
      const error = await errorOf(call, new Response('<h1>no</h1>', { status, headers: html }))
      expect(isAway(error)).toBe(true)
      expect(String(error)).toContain(`http://a answered ${status}`)
    },
  )

  it.each([
    ['a page', '<h1>maintenance</h1>'],
    ['no JSON object', '[]'],
    ['a part of the answer', JSON.stringify({ ...run, reason: 'new', should_process: true })],
  ])('answered 200 with %s may work later', async (_what, body) => {
    const error = await errorOf(call, new Response(body, { status: 200, headers: html }))
    expect(isAway(error)).toBe(true)
  })

  it.each([
    [409, 'lease_lost'],
    [404, 'not_found'],
    [401, 'unauthorized'],
  ])('answered %i %s by Holdfast is refused', async (status, code) => {
    const body = JSON.stringify({ title: 'No', status, code })
    const error = await errorOf(call, new Response(body, { status }))
    expect([name, isAway(error), error]).toMatchObject([name, false, { code }])
  })
})
