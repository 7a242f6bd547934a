/**
 * The audit as server-sent events. The id of an event is its place in the order of commits, which
 * is what a reader names when it comes again. A place without an event is told at the start and
 * with every heartbeat: a reader keeps it, and shows nothing.
 */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { AuditNews } from '../../audit/feed.ts'
import type { AuditRow } from '../../domain/audit.ts'
import { auditView } from '../../contract/audit.ts'

/** Two or three pages at most wait for a reader that is slower than the store. */
const bufferedBytesMax = 64 * 1024

/** Ends with `news`, which has to end when `gone` fires. */
export function sendNews(
  reply: FastifyReply,
  news: AsyncGenerator<AuditNews, void>,
  gone: AbortSignal,
): FastifyReply {
  gone.addEventListener('abort', () => {
    // Whoever does not read would keep the server from ending. It comes again where it was.
    if (reply.raw.writableLength > 0) reply.raw.destroy()
  })
  return reply
    .code(200)
    .type('text/event-stream; charset=utf-8')
    .header('x-accel-buffering', 'no')
    .send(Readable.from(texts(news), { objectMode: false, highWaterMark: bufferedBytesMax }))
}

async function* texts(news: AsyncGenerator<AuditNews, void>): AsyncGenerator<string, void> {
  for await (const { rows, order } of news) {
    yield rows.length > 0 ? rows.map(eventText).join('') : pingText(order)
  }
}

/** An event, not a comment: a page hears that the stream lives, and its browser the place. */
const pingText = (order: number): string => `id: ${order}\nevent: ping\ndata: {}\n\n`

function eventText(row: AuditRow): string {
  return `id: ${row.order}\nevent: ${row.type}\ndata: ${JSON.stringify(auditView(row))}\n\n`
}
