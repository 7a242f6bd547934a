/**
 * What every answer is made of: problems, lists, times. Answers are described exactly but not
 * checked for form: what the store gave back is shown, whatever rules it was taken in under.
 */
import { z } from 'zod'
import { fromQuery, line, wholeNumber } from './fields.ts'

/** RFC 3339, UTC, milliseconds. */
export const time = z.string().meta({ format: 'date-time' })

export const problem = z
  .looseObject({
    type: z.string().optional(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe('What programs read; stable.'),
    request_id: z.string(),
    errors: z
      .array(z.strictObject({ field: z.string(), message: z.string() }))
      .optional()
      .describe('Which fields are wrong, as dotted paths.'),
    hint: z.string().optional().describe('What to do about it.'),
  })
  .register(z.globalRegistry, { id: 'Problem' })

export type Problem = z.infer<typeof problem>

export function listOf<T extends z.ZodType>(item: T) {
  return z.strictObject({
    items: z.array(item),
    next_cursor: z.string().nullable().describe('Give it as `cursor` for the next page.'),
  })
}

/** The query parameters of every list. */
export const paging = {
  limit: fromQuery(wholeNumber(1, 1000)).default(100),
  cursor: line(1000).optional().describe('`next_cursor` of the page before.'),
}

export const health = z.strictObject({ status: z.literal('ok') })

/** An answer without a body. */
export const nothing = z.null()
