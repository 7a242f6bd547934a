/**
 * What every answer is made of: problems, lists, times. Answers are described exactly, but not
 * checked: what is stored is shown, also if it was stored under older rules.
 */
import { z } from 'zod'
import type { Paged } from '../store.ts'
import { fromQuery, line, wholeNumber } from './fields.ts'

/** RFC 3339, UTC, milliseconds. */
export const time = z.string().meta({ format: 'date-time' })
export const timeView = (ms: number): string => new Date(ms).toISOString()
export const maybeTime = (ms: number | null): string | null => (ms === null ? null : timeView(ms))

export const problem = z
  .looseObject({
    type: z.string().optional().describe('Default: `about:blank`.'),
    title: z.string().describe('The status in words.'),
    status: z.int().describe('The status of the answer.'),
    detail: z.string().describe('What is wrong, for people.'),
    code: z.string().describe('What is wrong, for programs; stable.'),
    request_id: z.string().describe('The id of the request in the log.'),
    errors: z
      .array(
        z.strictObject({
          field: z.string().describe('A dotted path.'),
          message: z.string().describe('What is wrong with it.'),
        }),
      )
      .optional()
      .describe('Which fields are wrong, as dotted paths.'),
    hint: z.string().optional().describe('What to do about it.'),
  })
  .register(z.globalRegistry, { id: 'Problem' })

export type Problem = z.infer<typeof problem>

export function listOf<T extends z.ZodType>(item: T) {
  return z.strictObject({
    items: z.array(item).describe('At most `limit` of them, newest first.'),
    next_cursor: z
      .string()
      .nullable()
      .describe('Send it as `cursor` to get the next page; null on the last page.'),
  })
}

export function pageView<T, V>(page: Paged<T>, view: (item: T) => V) {
  return { items: page.items.map(view), next_cursor: page.nextCursor }
}

/** The query parameters of every list. */
export const paging = {
  limit: fromQuery(wholeNumber(1, 1000)).default(100).describe('How many items a page has.'),
  cursor: line(1000).optional().describe('`next_cursor` of the previous page.'),
}

/** The query of a list without filters. */
export const pagingQuery = z.strictObject(paging)
export type Paging = z.infer<typeof pagingQuery>

export const health = z.strictObject({
  status: z.literal('ok').describe('Anything else is a problem.'),
})

export const readiness = z.strictObject({
  status: z
    .enum(['ok', 'degraded'])
    .describe('`degraded`: it serves, but the queue cannot be used, so work starts later.'),
  store: z.literal('ok').describe('If the store does not answer, the status of the answer is 503.'),
  queue: z
    .enum(['ok', 'away'])
    .describe('`away`: work is found in the store, a few seconds later. The log says why.'),
})

/** An answer without a body. */
export const nothing = z.null()
