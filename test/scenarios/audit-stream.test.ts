/**
 * Goal: a reader that follows the audit of a working server, and is disconnected again and again,
 * gets every event once and in order.
 * Method: a real server; writers that claim at the same time; a reader that disconnects after a few
 * events and reconnects with the last id it saw, in the end to a restarted server.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newPullRequest } from './client.ts'
import { databases, publishNothing, type ServerData } from './server-data.ts'
import { adminToken, Server } from './server.ts'

interface AuditItem {
  readonly id: number
  readonly order: number
}

/** Reads this many events, then disconnects. */
async function read(
  server: Server,
  position: string | null,
  count: number,
  onOpen: () => void = () => undefined,
): Promise<AuditItem[]> {
  const hangUp = new AbortController()
  const answer = await fetch(`${server.url}/v1/audit/stream?after=0`, {
    headers: {
      authorization: `Bearer ${adminToken}`,
      ...(position !== null && { 'last-event-id': position }),
    },
    signal: hangUp.signal,
  })
  const items: AuditItem[] = []
  let text = ''
  for await (const bytes of answer.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + bytes).split('\n\n')
    text = blocks.pop() ?? ''
    onOpen()
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      const isPing = /^event: ping$/m.test(block)
      if (data !== undefined && !isPing) items.push(JSON.parse(data) as AuditItem)
    }
    if (items.length >= count) break
  }
  hangUp.abort()
  return items
}

describe.each(databases)('the event stream of a server on $name', ({ makeData }) => {
  let serverData: ServerData
  let server: Server
  beforeEach(async () => {
    serverData = await makeData()
    // No event may come after those of the test, or there is no complete list to compare with.
    publishNothing(serverData)
    server = await Server.start(serverData)
  })
  afterEach(async () => {
    await server.kill()
    await serverData.remove()
  })

  const allItems = async (): Promise<AuditItem[]> => {
    const { body } = await server.admin.get('/v1/audit?limit=1000')
    return (body.items as unknown as AuditItem[]).toReversed()
  }

  it('loses and repeats nothing for a reader that is disconnected while others write', async () => {
    const state = { isOver: false }
    const writing = Promise.all(
      Array.from({ length: 10 }, async () => {
        const claimOf = newPullRequest()
        for (let n = 0; n < 40; n++) await server.admin.claim(claimOf(`head ${n}`))
      }),
    ).then(async () => {
      state.isOver = true
      // For a reader that has all events and waits for the next.
      await server.admin.claim(newPullRequest()('one more'))
    })
    const seen: AuditItem[] = []
    let cuts = 0
    const isOver = (): boolean => state.isOver
    while (!isOver()) {
      const last = seen.at(-1)
      seen.push(...(await read(server, last === undefined ? null : String(last.order), 1)))
      cuts++
    }
    await writing
    await server.admin.claim(newPullRequest()('the last'))
    expect(cuts).toBeGreaterThan(3)

    const lastSeen = String(seen.at(-1)?.order)
    const all = await allItems()
    const remaining = all.length - seen.length
    expect(remaining).toBeGreaterThan(0)
    const { promise: open, resolve: onOpen } = Promise.withResolvers<void>()
    const reading = read(server, lastSeen, Infinity, onOpen)
    await open
    const code = await server.stop()
    await reading
    expect(code).toBe(0)
    server = await Server.start(serverData)
    seen.push(...(await read(server, lastSeen, remaining)))
    expect(seen.map(({ id }) => id)).toEqual(all.map(({ id }) => id))
  }, 60_000)
})
