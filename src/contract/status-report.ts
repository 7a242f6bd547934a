/** What a run's holder says about how the work goes, on the wire. */
import { z } from 'zod'
import { leaseToken, text } from './fields.ts'

const codePointsMax = 100
/** Longer than any text that folds to what is allowed needs to be. */
const givenMax = 2000

const breaks = /[\r\n\u0085\u2028\u2029]+/g
const controls = /\p{Cc}/u

/** One line: shown in a comment, in lists and in terminals. */
export const statusText = text(givenMax)
  .transform((given) => given.replaceAll(breaks, ' ').replaceAll('\t', ' ').trim())
  .refine((told) => told !== '', 'must not be empty')
  .refine(
    (told) => codePoints(told) <= codePointsMax,
    `must be at most ${codePointsMax} characters`,
  )
  .refine((told) => !controls.test(told), 'must be without control characters')
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
    .describe('Within the run: the same key and status is one report, answered alike.'),
})

export const statusReported = z.strictObject({
  status: z.literal('ok').describe('It was taken, and is shown soon.'),
  reported_status: z.string().describe('What is shown of it.'),
})

export type StatusBody = z.infer<typeof statusBody>
export type StatusReportedView = z.infer<typeof statusReported>

function codePoints(told: string): number {
  return Array.from(told).length
}
