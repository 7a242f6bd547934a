/**
 * Goal: the event stream sends the committed audit rows, from the position that a reader asks for,
 * as standard server-sent events, and a slow reader delays nobody.
 * Method: a real server on a real port. The rows in the store are made by hand, so that each is
 * known; test/scenarios/audit-stream.test.ts tests the whole program.
 */
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createAuditFeed } from '../../src/audit/feed.ts'
import type { AuditRow } from '../../src/domain/audit.ts'
import { createHttpServer } from '../../src/http/server.ts'
import type { App } from '../../src/http/app.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { theRunId } from './fakes.ts'
import { adminToken, ask, bearer, problemOf, serverUnderTest } from './server-under-test.ts'

const row = (order: number, data: Record<string, unknown> = {}): AuditRow => ({
  id: order,
  causeId: null,
  order,
  at: 0,
  type: 'run.claimed',
  actor: 'admin',
  runId: theRunId,
  data,
})

/** Fifty megabytes of rows. */
const plenty = Array.from({ length: 10_000 }, (_, i) => row(i + 1, { text: 'x'.repeat(5000) }))

let rows: AuditRow[]
let reads: number
let server: App
let stop: () => void

beforeEach(async () => {
  rows = []
  reads = 0
  const { deps, stop: stopping } = serverUnderTest()
  const store = {
    audit: {
      latestOrder: async () => rows.at(-1)?.order ?? 0,
      after: async (order: number, _filter: object, limit: number) => {
        reads++
        const found = rows.filter((one) => one.order > order)
        return { rows: found.slice(0, limit), more: found.length > limit }
      },
    },
  }
  const auditFeed = createAuditFeed({ store, scheduler: systemScheduler, log: deps.log })
  server = createHttpServer({ ...deps, auditFeed })
  stop = stopping
  await server.listen({ port: 0, host: '127.0.0.1' })
})
afterEach(async () => {
  stop()
  await server.close()
})

const port = (): number => (server.server.address() as AddressInfo).port

async function open(query = '', headers: Record<string, string> = {}) {
  const answer = await fetch(`http://127.0.0.1:${port()}/v1/audit/stream${query}`, {
    headers: { ...bearer(adminToken), ...headers },
  })
  expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const texts = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  const found: string[] = []
  let unread = ''
  return {
    /** The next `count` blocks. */
    async blocks(count: number): Promise<string[]> {
      while (found.length < count) {
        const { value, done } = await texts.read()
        if (done) throw new Error(`it ended after ${found.length} blocks`)
        const parts = (unread + value).split('\n\n')
        unread = parts.pop() ?? ''
        found.push(...parts)
      }
      return found.splice(0, count)
    },
    ended: async () => (await texts.read()).done,
    close: () => texts.cancel(),
  }
}

describe('a reader', () => {
  test('gets its position at once, then each new row', async () => {
    rows.push(row(1), row(2))
    const stream = await open()
    expect(await stream.blocks(1)).toEqual(['id: 2\nevent: ping\ndata: {}'])
    rows.push(row(3, { text: 'two\nlines' }))
    const [event = ''] = await stream.blocks(1)
    expect(event.split('\n').slice(0, 2)).toEqual(['id: 3', 'event: run.claimed'])
    const data = JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '') as object
    expect(data).toMatchObject({
      id: 3,
      order: 3,
      type: 'run.claimed',
      data: { text: 'two\nlines' },
    })
    await stream.close()
  })

  test.each([
    ['the header', '', { 'last-event-id': '1' }],
    ['the address', '?after=1', {}],
    ['both, and the header counts', '?after=0', { 'last-event-id': '1' }],
  ])('continues after the position in %s', async (_name, query, headers) => {
    rows.push(row(1), row(2), row(3))
    const stream = await open(query, headers)
    const blocks = await stream.blocks(3)
    expect(blocks.map((block) => /id: (\d+)/.exec(block)?.[1])).toEqual(['1', '2', '3'])
    await stream.close()
  })

  test.each(['x', '', '1.5', '-', '9'.repeat(30)])(
    'is refused with 400 for the position "%s"',
    async (place) => {
      const headers = { 'last-event-id': place }
      const byHeader = problemOf(await ask(server, { url: '/v1/audit/stream', headers }))
      expect(byHeader).toMatchObject({ status: 400, errors: [{ field: 'last-event-id' }] })
      const url = `/v1/audit/stream?after=${place}`
      expect(problemOf(await ask(server, { url }))).toMatchObject({
        status: 400,
        errors: [{ field: 'after' }],
      })
    },
  )

  test('that does not read causes no reads of the store', async () => {
    rows.push(...plenty)
    const socket = await silentReader()
    await readAll()
    // The buffers of the operating system take a few pages.
    expect(reads).toBeLessThan(plenty.length / 100 + 50)
    socket.destroy()
  })
})

describe('a server that stops', () => {
  test('ends its streams, and does not wait for those that do not read', async () => {
    rows.push(...plenty)
    const socket = await silentReader()
    const cut = once(socket, 'close')
    const stream = await readAll()
    stop()
    await server.close()
    expect(await stream.ended()).toBe(true)
    socket.resume()
    await cut
  })
})

/** Asks for all rows and reads nothing. */
async function silentReader(): Promise<Socket> {
  const socket = connect(port(), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.pause()
  await once(socket, 'connect')
  const head = ['GET /v1/audit/stream?after=0 HTTP/1.1', 'Host: x']
  socket.write([...head, `Authorization: Bearer ${adminToken}`, '', ''].join('\r\n'))
  return socket
}

/** Reads all rows. In this time another reader could have read all of them, too. */
async function readAll() {
  const stream = await open('?after=0')
  await stream.blocks(1 + plenty.length)
  return stream
}
