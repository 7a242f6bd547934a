// Goal: no event is lost or changed, wherever the network cuts the stream and however lines end.
import { describe, expect, test } from 'vitest'
import { readEvents, type StreamedEvent } from './event-stream.ts'

const lines = [
  ': the stream begins',
  '',
  'id: 10',
  'event: run.claimed',
  'data: {"summary":"日本語 👍"}',
  '',
  'id: 11',
  'event: ping',
  'data: {}',
  '',
  'id: 12',
  'event: run.failed',
  'data: two',
  'data: lines',
  '',
  '',
]
const expected: readonly StreamedEvent[] = [
  { id: '10', data: '{"summary":"日本語 👍"}' },
  { id: '11', data: null },
  { id: '12', data: 'two\nlines' },
]

/** A body that arrives in these pieces, and then fails with `failure` if that is set. */
function responseOf(pieces: readonly Uint8Array[], failure?: Error): Response {
  const waiting = [...pieces]
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = waiting.shift()
      if (next !== undefined) controller.enqueue(next)
      else if (failure !== undefined) controller.error(failure)
      else controller.close()
    },
  })
  return new Response(body)
}

async function eventsOf(response: Response, signal = new AbortController().signal) {
  const events: StreamedEvent[] = []
  for await (const event of readEvents(response, signal)) events.push(event)
  return events
}

describe.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
])('with lines that end in %s', (_name, end) => {
  const bytes = new TextEncoder().encode(lines.join(end))

  test('every event is complete, whichever byte the stream is cut at', async () => {
    for (let at = 0; at <= bytes.length; at += 1) {
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
      expect([at, await eventsOf(responseOf(pieces))]).toEqual([at, expected])
    }
  })

  test('every event is complete, one byte at a time', async () => {
    const pieces = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
    expect(await eventsOf(responseOf(pieces))).toEqual(expected)
  })
})

test('a broken connection ends the stream without the incomplete event', async () => {
  const bytes = new TextEncoder().encode('id: 1\ndata: whole\n\nid: 2\ndata: half')
  const broken = responseOf([bytes], new TypeError('terminated'))
  expect(await eventsOf(broken)).toEqual([{ id: '1', data: 'whole' }])
})

test('any other failure is not hidden', async () => {
  await expect(eventsOf(responseOf([], new Error('our bug')))).rejects.toThrow('our bug')
})
