/**
 * The audit as server-sent events. The id of an event is its number in the order of commits. A
 * reader sends the last id when it connects again. At the start, and while nothing happens, a
 * `ping` event gives the reader the current number.
 */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { AuditNews } from '../../audit/feed.ts'
import type { AuditRow } from '../../domain/audit.ts'
import { auditView } from '../../contract/audit.ts'

/** At most two or three pages wait for a reader that is slower than the store. */
const bufferedBytesMax = 64 * 1024

/** Ends when `news` ends. `news` must end when `gone` aborts. */
export function sendNews(
  reply: FastifyReply,
  news: AsyncGenerator<AuditNews, void>,
  gone: AbortSignal,
): FastifyReply {
  gone.addEventListener('abort', () => {
    // A reader that stopped reading would delay the stop of the server. It can connect again.
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

/** An event and not a comment, so that a web page sees it and the browser stores its id. */
const pingText = (order: number): string => `id: ${order}\nevent: ping\ndata: {}\n\n`

function eventText(row: AuditRow): string {
  return `id: ${row.order}\nevent: ${row.type}\ndata: ${JSON.stringify(auditView(row))}\n\n`
}
