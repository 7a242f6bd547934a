/**
 * Goal: a server whose database cannot be reached says so, and a caller can tell it from a fault.
 * Method: the database is taken away from under a running server, as an outage would.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newPullRequest } from './client.ts'
import { onPostgres, type Place } from './place.ts'
import { Server } from './server.ts'

let place: Place
let server: Server
beforeEach(async () => {
  place = await onPostgres()
  server = await Server.start(place)
}, 60_000)
afterEach(async () => {
  await server.kill()
  await place.remove()
})

it('a claim is answered 503, and only readiness is lost', async () => {
  await place.remove()
  const first = await server.admin.claim(newPullRequest()('a'))
  const second = await server.admin.claim(newPullRequest()('a'))
  for (const { status, headers, body } of [first, second]) {
    expect(status).toBe(503)
    expect(body.code).toMatch(/^store_/)
    expect(headers.get('retry-after')).not.toBeNull()
  }
  expect((await server.as(null).get('/readyz')).status).toBe(503)
  expect((await server.as(null).get('/healthz')).status).toBe(200)
})
