/**
 * Goal: wrong tokens and signatures are audited with the address they came from and do not delay
 * right ones, and a request for a host name that is not the server's is refused.
 */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, test } from 'vitest'
import { createHttpServer } from '../../src/http/server.ts'
import type { HttpDeps } from '../../src/http/deps.ts'
import type { FailedAccess } from '../../src/http/access/failed-access.ts'
import { runToken, scopedToken } from '../../src/secrets.ts'
import { startedAt, theRunId } from './fakes.ts'
import {
  adminToken,
  bearer,
  problemOf,
  serverUnderTest,
  theRunToken,
  tokenOf,
} from './server-under-test.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

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

const wrongSignature = `sha256=${'0'.repeat(64)}`

const webhook = (signature: string, payload = '{}') =>
  ({
    method: 'POST',
    url: '/webhooks/github',
    headers: {
      'x-hub-signature-256': signature,
      'x-github-delivery': 'guid',
      'x-github-event': 'push',
    },
    payload,
  }) as const

/** Refusals that wait until a test releases them. */
function heldBack() {
  const asked = Promise.withResolvers<undefined>()
  const go = Promise.withResolvers<undefined>()
  const refused = async (): Promise<void> => {
    asked.resolve(undefined)
    await go.promise
  }
  const failedAccess = { refused, flush: async () => undefined } as unknown as FailedAccess
  return { failedAccess, released: { asked: asked.promise, now: () => go.resolve(undefined) } }
}

describe('failed authentication', () => {
  test('is audited with the address; a missing or an ended token is not', async () => {
    const { server, fakes, get } = start()
    for (const guess of ['guess', 'hft_tok_read.guess', runToken(theRunId, 'guess')]) {
      expect((await get(guess)).statusCode).toBe(401)
    }
    for (const signature of ['sha256=1', wrongSignature]) {
      expect((await server.inject(webhook(signature))).statusCode).toBe(401)
    }
    expect((await get(null)).statusCode).toBe(401)
    const over = { ...fakes.tokens.get('tok_read')!, id: 'tok_over', expiresAt: startedAt }
    fakes.tokens.set(over.id, over)
    fakes.run = { ...fakes.run, tokenId: 'tok_gone', tokenUntil: 0 }
    for (const ended of [scopedToken(over.id, 'secret'), theRunToken]) {
      const { code, detail } = problemOf(await get(ended))
      expect([code, detail]).toEqual(['unauthorized', expect.stringContaining('expired')])
    }
    expect((await get(tokenOf('read'))).statusCode).toBe(200)
    await server.close()
    expect(fakes.refusals).toEqual([
      { address: '127.0.0.1', what: 'token', count: 1 },
      { address: '127.0.0.1', what: 'signature', count: 1 },
      { address: '127.0.0.1', what: 'token', count: 2 },
      { address: '127.0.0.1', what: 'signature', count: 1 },
    ])
  })

  test.each([
    ['a token', { method: 'GET', url: '/v1/runs', headers: bearer('guess') }],
    [
      'a token on a path that is not valid',
      { method: 'GET', url: '/%zz', headers: bearer('guess') },
    ],
    ['a signature', webhook(wrongSignature)],
    ['what is no signature', webhook('sha256=1')],
  ] as const)('with %s is not answered before its delay is over', async (_what, guess) => {
    const { released, failedAccess } = heldBack()
    const { server } = start({ failedAccess })
    let isAnswered = false
    const answer = server.inject(guess).finally(() => (isAnswered = true))
    await Promise.race([released.asked, answer])
    // An answer that is not delayed would be there after a few turns.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    expect(isAnswered).toBe(false)
    released.now()
    expect((await answer).statusCode).toBe(401)
  })

  test('does not reveal whether a path is valid', async () => {
    const { server } = start()
    const get = (token: string) =>
      server.inject({ method: 'GET', url: '/%zz', headers: bearer(token) })
    expect((await get(adminToken)).statusCode).toBe(400)
    expect((await get('guess')).statusCode).toBe(401)
  })

  test.each([
    [null, '127.0.0.1'],
    [['10.0.0.0/8'], '127.0.0.1'],
    [['127.0.0.1', '10.0.0.0/8'], '192.0.2.9'],
  ])('with the proxies %j comes from %s', async (trustedProxies, address) => {
    const { server, fakes, get } = start({ trustedProxies })
    await get('guess', { 'x-forwarded-for': '203.0.113.1, 192.0.2.9, 10.1.1.1' })
    await server.close()
    expect(fakes.refusals).toEqual([{ address, what: 'token', count: 1 }])
  })
})

test('the body of an unsigned webhook is released while its refusal is delayed', async () => {
  const { released, failedAccess } = heldBack()
  const under = serverUnderTest()
  const bodies: WeakRef<Buffer>[] = []
  const isSigned = (body: Buffer): boolean => {
    bodies.push(new WeakRef(body))
    return false
  }
  const { server } = start({ failedAccess, intake: { ...under.fakes.intake, isSigned } })
  open.push(under.server)
  const answer = server.inject(webhook(wrongSignature, 'x'.repeat(100_000)))
  await Promise.race([released.asked, answer])
  await expect
    .poll(() => {
      collectGarbage()
      return bodies.map((body) => body.deref()?.length)
    })
    .toEqual([undefined])
  released.now()
  expect((await answer).statusCode).toBe(401)
})

test('a body without a right token is not waited for', async () => {
  const { server } = start()
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo
  const headers = { ...bearer('guess'), 'content-type': 'application/json', 'content-length': 9 }
  // The body is never sent.
  const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/runs', headers })
  sent.on('error', () => undefined).flushHeaders()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(401)
  sent.destroy()
})

describe('a host name that is not the server’s', () => {
  test('is refused with any token, except for webhooks and health', async () => {
    const { server, get } = start({ isOurHost: (host) => host === 'localhost:80' })
    expect((await get(adminToken)).statusCode).toBe(200)
    const answer = await get(adminToken, { host: 'evil.example' })
    expect(problemOf(answer)).toMatchObject({ status: 421, code: 'wrong_host' })
    expect(problemOf(answer).hint).toContain('HOLDFAST_PUBLIC_URL')
    const invalid = { ...bearer(adminToken), host: 'evil.example' }
    const badPath = await server.inject({ method: 'GET', url: '/%zz', headers: invalid })
    expect(problemOf(badPath)).toMatchObject({ status: 421, code: 'wrong_host' })
    const health = { method: 'GET', url: '/healthz', headers: { host: 'evil.example' } } as const
    expect((await server.inject(health)).statusCode).toBe(200)
  })
})
