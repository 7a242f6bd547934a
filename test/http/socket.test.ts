/**
 * Goal: what only a real connection shows: bytes that are not HTTP, bodies without a length,
 * callers that disconnect, and a server that stops without dropping a request.
 * Method: raw bytes over a socket.
 */
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { problem } from '../../src/contract.ts'
import { signed } from '../intake/webhook.ts'
import { theRunId, webhookSecret } from './fakes.ts'
import { adminToken, bearer, serverUnderTest, theRunToken } from './server-under-test.ts'

let { server, fakes, stop } = serverUnderTest()
beforeEach(async () => {
  ;({ server, fakes, stop } = serverUnderTest())
  await server.listen({ port: 0, host: '127.0.0.1' })
})
afterEach(() => server.close())

async function open(): Promise<Socket> {
  const { port } = server.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** Sends the bytes and reads until the server closes. */
async function exchange(bytes: string | Buffer): Promise<string> {
  const socket = await open()
  // A server that has refused may close while we still send.
  socket.on('error', () => undefined)
  socket.write(bytes)
  return await text(socket)
}

function head(method: string, path: string, ...headers: string[]): string {
  const lines = ['host: x', `authorization: Bearer ${adminToken}`, ...headers]
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

function problemIn(answer: string) {
  const [start = '', body = ''] = answer.split('\r\n\r\n', 2)
  expect(start).toMatch(/content-type: application\/problem\+json/i)
  expect(start).toMatch(/x-request-id: /i)
  return problem.parse(JSON.parse(body))
}

describe('bytes that are not a valid request', () => {
  test.each([
    ['garbage', 'hello\r\n\r\n', 400],
    ['TLS where there is none', Buffer.from('1603010200010001fc0303', 'hex'), 400],
    ['an unknown method', head('BREW', '/v1/runs'), 400],
    ['a NUL in the path', head('GET', '/v1/runs/\0'), 400],
    ['a NUL in a header', head('GET', '/v1/runs', 'x-a: a\0b'), 400],
    ['a length that is no number', head('POST', '/v1/runs', 'content-length: ten'), 400],
    [
      'two framings at once',
      head('POST', '/v1/runs', 'content-length: 5', 'transfer-encoding: chunked') + '0\r\n\r\n',
      400,
    ],
    ['headers without end', head('GET', '/v1/runs', `x-long: ${'x'.repeat(70_000)}`), 431],
  ])('%s', async (_name, bytes, status) => {
    expect(problemIn(await exchange(bytes)).status).toBe(status)
    expect(fakes.changes).toEqual([])
  })

  test('a path in another encoding', async () => {
    for (const path of ['/v1/runs/\xff', '/v1/runs/%c0%ae%c0%ae', '//', '/%2f%2fv1/runs']) {
      const bytes = Buffer.from(head('GET', path, 'connection: close'), 'latin1')
      expect([400, 404]).toContain(problemIn(await exchange(bytes)).status)
    }
  })

  test('an absolute address is reduced to its path or refused', async () => {
    const answer = await exchange(head('GET', 'http://evil.test/v1/none', 'connection: close'))
    expect([400, 404]).toContain(problemIn(answer).status)
  })
})

describe('a body without a length', () => {
  const chunk = (size: number) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
  const json = ['content-type: application/json', 'transfer-encoding: chunked']

  test('is cut off above the limit', async () => {
    const start = head('POST', '/v1/runs', ...json, 'connection: close')
    const answer = await exchange(start + chunk(600_000) + chunk(600_000) + '0\r\n\r\n')
    expect(problemIn(answer)).toMatchObject({ status: 413, code: 'body_too_large' })
  })

  test('is read like any other below it', async () => {
    const start = head('POST', `/v1/runs/${theRunId}/cancel`, ...json, 'connection: close')
    expect(await exchange(`${start}2\r\n{}\r\n0\r\n\r\n`)).toMatch(/^HTTP\/1.1 200 /)
  })

  test('without a type is refused', async () => {
    const start = head('POST', '/v1/runs', 'transfer-encoding: chunked', 'connection: close')
    const answer = await exchange(`${start}2\r\n{}\r\n0\r\n\r\n`)
    expect(problemIn(answer)).toMatchObject({ status: 400, code: 'content_type_missing' })
  })
})

describe('a waiting request', () => {
  const url = `/v1/runs/${theRunId}/heartbeat`
  const origin = () => `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`
  const hold = (path: string, body: object, signal?: AbortSignal) =>
    fetch(`${origin()}${path}`, {
      method: 'POST',
      headers: { ...bearer(theRunToken), 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    })

  beforeEach(() => {
    fakes.holds = true
  })

  test('is ended when its caller disconnects', async () => {
    const caller = new AbortController()
    const held = hold(url, { wait_ms: 60_000 }, caller.signal)
    await fakes.holding.promise
    caller.abort()
    await expect(held).rejects.toThrow()
    const { signal } = fakes.changes[0]?.request as { signal: AbortSignal }
    if (!signal.aborted) await once(signal, 'abort')
  })

  test('is answered as usual when the server stops, and its connection is closed', async () => {
    const held = hold(url, { wait_ms: 60_000 })
    await fakes.holding.promise
    stop()
    const closed = server.close()
    const answer = await held
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close'])
    await answer.text()
    await closed
  })

  test('keeps the server listening until it is answered, but no longer', async () => {
    const held = hold(url, { wait_ms: 60_000 })
    await fakes.holding.promise
    const closed = server.close()
    const late = await fetch(`${origin()}/healthz`)
    expect([late.status, late.headers.get('connection')]).toEqual([200, 'close'])
    const at = origin()
    stop()
    expect((await held).status).toBe(200)
    await closed
    await expect(fetch(`${at}/healthz`)).rejects.toThrow()
  })

  test('lets the server accept webhooks with 202 until it is answered (scenario 60)', async () => {
    const held = hold(url, { wait_ms: 60_000 })
    await fakes.holding.promise
    const closed = server.close()
    const payload = { action: 'opened' }
    const { body, headers } = signed({ event: 'pull_request', payload, secret: webhookSecret })
    const late = await fetch(`${origin()}/webhooks/github`, { method: 'POST', headers, body })
    expect([late.status, late.headers.get('connection')]).toEqual([202, 'close'])
    expect(fakes.changes.map(({ verb }) => verb)).toContain('receive')
    stop()
    expect((await held).status).toBe(200)
    await closed
  })

  test('does not keep an idle connection open', async () => {
    const idle = await open()
    idle.write(head('GET', '/healthz'))
    await once(idle, 'data')
    const ended = once(idle, 'close')
    await server.close()
    await ended
  })

  test('does not make the server wait for a connection without a request', async () => {
    const silent = await open()
    const ended = once(silent, 'close')
    await server.close()
    await ended
  })
})
