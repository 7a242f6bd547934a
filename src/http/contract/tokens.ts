/** Scoped tokens on the wire. A token's secret is answered once, when it is made. */
import { z } from 'zod'
import { listOf, paging, time } from './answers.ts'
import { id, line, positive } from './fields.ts'

export const tokenBody = z.strictObject({
  scope: z
    .string()
    .regex(
      /^(?:admin|operator|worker|read|bot:[a-z][a-z0-9-]{0,31})$/,
      'must be admin, operator, worker, read or bot:CHANNEL',
    )
    .meta({ examples: ['worker'] }),
  name: line(200).optional().describe('For people; shown in lists.'),
  user_id: positive.optional().describe('The person it acts for.'),
})

export const createdToken = z
  .strictObject({ id: z.string(), token: z.string().describe('Shown this once.') })
  .register(z.globalRegistry, { id: 'CreatedToken' })

export const token = z
  .strictObject({
    id: z.string(),
    scope: z.string(),
    name: z.string().nullable(),
    user_id: z.int().nullable(),
    created_at: time,
  })
  .register(z.globalRegistry, { id: 'Token' })

export const tokenList = listOf(token)
export const tokenParams = z.strictObject({ id })
export const tokensQuery = z.strictObject(paging)
