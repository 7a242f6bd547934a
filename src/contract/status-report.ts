/** How a run's holder reports progress, in the API. */
import { z } from 'zod'
import { leaseToken, text } from './fields.ts'

const codePointsMax = 100
/** Line breaks and blanks are removed, so a longer text may still become short enough. */
const givenMax = 2000

const breaks = /[\r\n\u0085\u2028\u2029]+/g
const controls = /\p{Cc}/u

/** One line: shown in a comment, in lists and in terminals. */
export const statusText = text(givenMax)
  .transform((given) => given.replaceAll(breaks, ' ').replaceAll('\t', ' ').trim())
  .refine((line) => line !== '', 'must not be empty')
  .refine(
    (line) => codePoints(line) <= codePointsMax,
    `must be at most ${codePointsMax} characters`,
  )
  .refine((line) => !controls.test(line), 'must be without control characters')
  .meta({
    examples: ['Reading the diff'],
    description: `For people: 1 to ${codePointsMax} characters. Line breaks become spaces.`,
  })

export const statusBody = z.strictObject({
  status: statusText,
  lease_token: leaseToken
    .optional()
    .describe('`lease.token` of the claim or lease. Required of the scope `worker`.'),
  idempotency_key: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
    .optional()
    .describe('Unique in the run: a repeat with the same key and status counts once.'),
})

export const statusReported = z.strictObject({
  status: z.literal('ok').describe('The report was stored and is shown soon.'),
  reported_status: z.string().describe('The text that is shown.'),
})

export type StatusBody = z.infer<typeof statusBody>
export type StatusReportedView = z.infer<typeof statusReported>

function codePoints(line: string): number {
  return Array.from(line).length
}
