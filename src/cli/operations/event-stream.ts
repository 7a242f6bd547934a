/**
 * Reads server-sent events from a response. If the connection breaks, the stream ends as if it was
 * closed. An event that was cut off in the middle is dropped.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser'

export interface StreamedEvent {
  readonly id: string | null
  /** Null for a `ping`, which only gives the current place in the stream. */
  readonly data: string | null
}

export async function* readEvents(
  response: Response,
  signal: AbortSignal,
): AsyncGenerator<StreamedEvent> {
  // The parser's own transform stream is not used: when it breaks, it drops parsed events.
  let parsed: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => void parsed.push(event) })
  for await (const text of textOf(response, signal)) {
    parser.feed(text)
    const events = parsed
    parsed = []
    for (const { id, event, data } of events) {
      yield { id: id ?? null, data: event === 'ping' ? null : data }
    }
  }
}

async function* textOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  if (response.body === null) return
  const decoder = new TextDecoder()
  try {
    const body = response.body as AsyncIterable<Uint8Array>
    for await (const bytes of body) yield decoder.decode(bytes, { stream: true })
  } catch (error) {
    if (!signal.aborted && !(error instanceof TypeError)) throw error
  }
}
