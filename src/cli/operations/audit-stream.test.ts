import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemScheduler } from '../../scheduler.ts'
import { serverClient } from '../connection/server-client.ts'
import { httpOperations } from './http-operations.ts'
import type { AuditView } from '../../contract.ts'
import type { FollowRequest } from './operations.ts'

/** A server of the audit stream whose connections the test cuts. */
let server: Server
let requests: { readonly url: string; readonly after: string | undefined }[] = []
let onStream: (answer: ServerResponse, after: string | undefined) => void
let listed: readonly AuditView[] = []
let away: boolean[] = []
let refuse: () => boolean = () => false
let refusal: number | null = null

beforeEach(async () => {
  requests = []
  listed = []
  away = []
  refuse = () => false
  refusal = null
  server = createServer((request: IncomingMessage, answer) => {
    const after = request.headers['last-event-id'] as string | undefined
    requests.push({ url: request.url ?? '', after })
    if (request.url?.startsWith('/v1/audit?') === true) {
      answer.end(JSON.stringify({ items: listed, next_cursor: null }))
      return
    }
    if (refuse()) {
      request.socket.destroy()
      return
    }
    if (refusal !== null) {
      answer.writeHead(refusal).end('{"code":"forbidden"}')
      return
    }
    answer.writeHead(200, { 'content-type': 'text/event-stream' })
    answer.flushHeaders()
    onStream(answer, after)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const event = (id: number): AuditView => ({
  id,
  order: id * 10,
  cause_id: null,
  at: '2026-01-31T12:00:00.000Z',
  type: 'run.claimed',
  actor: 'admin',
  run_id: null,
  task_id: null,
  delivery_id: null,
  data: {},
})
/** The position of a row is ten times its id, so that the two cannot be confused. */
const sent = (id: number): string =>
  `id: ${id * 10}\nevent: run.claimed\ndata: ${JSON.stringify(event(id))}\n\n`

async function follow(count: number, request: Partial<FollowRequest> = {}): Promise<number[]> {
  const { port } = server.address() as AddressInfo
  // The tests do not wait for the pauses between two tries.
  const scheduler = {
    ...systemScheduler,
    after: (ms: number, task: () => void) => systemScheduler.after(ms > 20_000 ? ms : 1, task),
  }
  const client = serverClient({ fetch, scheduler }, `http://127.0.0.1:${port}`, 'token')
  const operations = httpOperations(client, { scheduler, onAway: (is) => away.push(is) })
  const stop = new AbortController()
  const ids: number[] = []
  const follow = { filter: {}, last: 0, signal: stop.signal, ...request }
  for await (const { id } of operations.followAudit(follow)) {
    ids.push(id)
    if (ids.length === count) stop.abort()
  }
  return ids
}

describe('a stream', () => {
  test('begins after the newest row, and continues after the last complete one', async () => {
    listed = [event(1)]
    onStream = (answer, after) => {
      if (after === '10') {
        answer.write(`: hello\n\n${sent(2)}${sent(3)}${sent(4).slice(0, 20)}`, () =>
          answer.destroy(),
        )
      } else {
        answer.end(`${sent(4)}${sent(5)}`)
      }
    }
    expect(await follow(4)).toEqual([2, 3, 4, 5])
    expect(requests.map(({ after }) => after)).toEqual([undefined, '10', '30'])
  })

  test('of an empty store has every row', async () => {
    onStream = (answer) => answer.end(sent(1))
    expect(await follow(1)).toEqual([1])
    expect(requests[1]?.after).toBe('0')
  })

  test('may arrive in any pieces', async () => {
    onStream = (answer) => {
      const bytes = Buffer.from(`${sent(1)}${sent(2)}`.replaceAll('\n', '\r\n'))
      const next = (at: number): void => {
        if (at < bytes.length) answer.write(bytes.subarray(at, at + 7), () => next(at + 7))
      }
      next(0)
    }
    expect(await follow(2)).toEqual([1, 2])
  })

  test('waits for a server that is down', async () => {
    let tries = 0
    refuse = () => ++tries > 1 && tries < 4
    onStream = (answer, after) => answer.end(after === '0' ? sent(1) : sent(2))
    expect(await follow(2)).toEqual([1, 2])
    expect(away).toEqual([false, true, true, false])
  })

  test('that is refused is not requested again', async () => {
    onStream = (answer) => answer.end()
    refuse = () => false
    refusal = 403
    await expect(follow(1)).rejects.toMatchObject({ code: 'forbidden' })
    expect(requests.filter(({ url }) => url.startsWith('/v1/audit/stream'))).toHaveLength(1)
  })
})

test('the latest rows come first, and newer ones come from the stream', async () => {
  listed = [event(5), event(4)]
  onStream = (answer) => answer.write(sent(6))
  const latest = follow(3, { last: 2, filter: { type: 'run.claimed' } })
  expect(await latest).toEqual([4, 5, 6])
  expect(requests.map(({ url }) => url)).toEqual([
    '/v1/audit?limit=1',
    '/v1/audit?type=run.claimed&limit=2',
    '/v1/audit/stream?type=run.claimed',
  ])
})
