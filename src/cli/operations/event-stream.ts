/**
 * Reads server-sent events from a response. A connection that breaks ends the stream like one that
 * closes: what was cut off in the middle of an event is not given.
 */

export interface StreamedEvent {
  readonly id: string | null
  /** Null where only the place in the stream is told. */
  readonly data: string | null
}

export async function* readEvents(
  response: Response,
  signal: AbortSignal,
): AsyncGenerator<StreamedEvent> {
  let rest = ''
  for await (const text of textOf(response, signal)) {
    const blocks = (rest + text).replace(/\r\n?/g, '\n').split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = eventOf(block)
      if (event !== null) yield event
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

/** Null for comments, which only keep a connection alive. */
function eventOf(block: string): StreamedEvent | null {
  let id: string | null = null
  let event: string | null = null
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, field, value] = /^([^:]+):? ?(.*)$/.exec(line) ?? []
    if (field === 'id') id = value ?? ''
    if (field === 'event') event = value ?? ''
    if (field === 'data') data.push(value ?? '')
  }
  if (id === null && data.length === 0) return null
  return { id, data: data.length === 0 || event === 'ping' ? null : data.join('\n') }
}
