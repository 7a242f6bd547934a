/**
 * Goal: wrong tokens and signatures are told in the audit with the address they came from, right
 * ones are not held up by them, and a name that is not the server's gets no answer from it.
 */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { createHttpServer } from '../../src/http/server.ts'
import type { HttpDeps } from '../../src/http/deps.ts'
import { runToken } from '../../src/secrets.ts'
import { theRunId } from './fakes.ts'
import { adminToken, bearer, problemOf, serverUnderTest, tokenOf } from './server-under-test.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

function start(over: Partial<HttpDeps> = {}) {
  const under = serverUnderTest()
  const server = createHttpServer({ ...under.deps, ...over })
  open.push(server, under.server)
  const get = (token: string | null, headers: Readonly<Record<string, string>> = {}) =>
    server.inject({
      method: 'GET',
      url: '/v1/runs',
      headers: { ...(token !== null && bearer(token)), ...headers },
    })
  return { ...under, server, get }
}

describe('failed authentication', () => {
  test('is audited with the address; a missing or an ended token is not', async () => {
    const { server, fakes, get } = start()
    for (const guess of ['guess', 'hft_tok_read.guess', runToken(theRunId, 'guess')]) {
      expect((await get(guess)).statusCode).toBe(401)
    }
    const headers = { 'x-hub-signature-256': 'sha256=1' }
    await server.inject({ method: 'POST', url: '/webhooks/github', headers, payload: '{}' })
    await get(null)
    fakes.run = { ...fakes.run, tokenId: 'tok_gone', tokenUntil: 0 }
    expect((await get(tokenOf('read'))).statusCode).toBe(200)
    await server.close()
    expect(fakes.refusals).toEqual([{ address: '127.0.0.1', count: 4 }])
  })

  test.each([
    [null, '127.0.0.1'],
    [['10.0.0.0/8'], '127.0.0.1'],
    [['127.0.0.1', '10.0.0.0/8'], '192.0.2.9'],
  ])('with the proxies %j comes from %s', async (trustedProxies, address) => {
    const { server, fakes, get } = start({ trustedProxies })
    await get('guess', { 'x-forwarded-for': '203.0.113.1, 192.0.2.9, 10.1.1.1' })
    await server.close()
    expect(fakes.refusals).toEqual([{ address, count: 1 }])
  })
})

test('a body without a right token is not waited for', async () => {
  const { server } = start()
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo
  const headers = { ...bearer('guess'), 'content-type': 'application/json', 'content-length': 9 }
  // Nothing of the body is ever sent.
  const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/runs', headers })
  sent.on('error', () => undefined).flushHeaders()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(401)
  sent.destroy()
})

describe('a name that is not the server’s', () => {
  test('is refused, whatever token comes with it; webhooks and health are for all', async () => {
    const { server, get } = start({ isOurHost: (host) => host === 'localhost:80' })
    expect((await get(adminToken)).statusCode).toBe(200)
    const answer = await get(adminToken, { host: 'evil.example' })
    expect(problemOf(answer)).toMatchObject({ status: 421, code: 'wrong_host' })
    expect(problemOf(answer).hint).toContain('HOLDFAST_PUBLIC_URL')
    const health = { method: 'GET', url: '/healthz', headers: { host: 'evil.example' } } as const
    expect((await server.inject(health)).statusCode).toBe(200)
  })
})
