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
    .meta({
      examples: ['worker'],
      description:
        'What it may do. `admin`: everything. `operator`: look, cancel, rerun. `worker`: claim ' +
        'to complete. `read`: look. `bot:CHANNEL`: deliver for one channel.',
    }),
  name: line(200).optional().describe('Whose it is; shown in lists.'),
  user_id: positive.optional().describe('The number of the person it acts for.'),
})

export const createdToken = z
  .strictObject({
    id: z.string().describe('To revoke it by.'),
    token: z.string().describe('To be sent as `Authorization: Bearer`. Shown this once.'),
  })
  .register(z.globalRegistry, { id: 'CreatedToken' })

export const token = z
  .strictObject({
    id: z.string().describe('To revoke it by.'),
    scope: z.string().describe('What it may do.'),
    name: z.string().nullable().describe('Whose it is.'),
    user_id: z.int().nullable().describe('The number of the person it acts for.'),
    created_at: time.describe('When it was made.'),
  })
  .register(z.globalRegistry, { id: 'Token' })

export const tokenList = listOf(token)
export const tokenParams = z.strictObject({ id: id.describe('Id of the token.') })
export const tokensQuery = z.strictObject(paging)
