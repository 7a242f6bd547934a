/**
 * Goal: a server whose database cannot be reached says so, and a caller can distinguish that from a
 * bug.
 * Method: the database of a running server is made unreachable, as in an outage.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newPullRequest } from './client.ts'
import { onPostgres, type ServerData } from './server-data.ts'
import { Server } from './server.ts'

let serverData: ServerData
let server: Server
beforeEach(async () => {
  serverData = await onPostgres()
  server = await Server.start(serverData)
}, 60_000)
afterEach(async () => {
  await server.kill()
  await serverData.remove()
})

it('a claim is answered 503, and only readiness is lost', async () => {
  await serverData.remove()
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
