/** Flow events on the wire. */
import { z } from 'zod'
import { listOf, paging, time } from './answers.ts'
import { fromQuery, id, instant, wholeNumber } from './fields.ts'

const eventFilter = {
  type: z
    .string()
    .regex(/^[a-z][a-z0-9._]{0,99}$/, 'must be an audit type such as run.claimed')
    .optional()
    .describe('Only this type, such as `run.claimed`.'),
  since: instant.optional().describe('Only what happened at this time or after.'),
  until: instant.optional().describe('Only what happened before this time.'),
}

export const auditQuery = z.strictObject({
  run: id.optional().describe('Only what happened to this run.'),
  task: id.optional().describe('Only what happened to this task; there are none yet.'),
  delivery: id.optional().describe('Only what happened to this delivery.'),
  ...eventFilter,
  ...paging,
})

const place = fromQuery(wholeNumber(0, 999_999_999_999_999))

export const auditStreamQuery = z.strictObject({
  run: id.optional().describe('Only what happens to this run.'),
  delivery: id.optional().describe('Only what happens to this delivery.'),
  ...eventFilter,
  after: place.optional().describe('Begin after this `order`; 0 begins with the oldest kept.'),
})

export const auditStreamHeaders = z.looseObject({
  'last-event-id': place
    .optional()
    .describe('The last `id` that was received. Goes before `after`.'),
})

export const runAuditQuery = z.strictObject(paging)

export const auditEvent = z
  .strictObject({
    id: z.int().describe('Names the event. Also the fence of a claim or lease.'),
    order: z
      .int()
      .describe('Its place in the order of commits: what comes after you read is always above.'),
    cause_id: z
      .int()
      .nullable()
      .describe(
        'The `id` of the event that led to it, which may be past its retention. Null when a ' +
          'person, a program or the passing of time did.',
      ),
    at: time.describe('When it happened, by the clock of the store.'),
    type: z.string().describe('What happened, such as `run.claimed`.'),
    actor: z.string().describe('Who did it: `admin`, `token:ID`, `run:ID`, `sweeper` and so on.'),
    run_id: z.string().nullable().describe('The run it happened to.'),
    task_id: z.string().nullable().describe('Always null so far.'),
    delivery_id: z.string().nullable().describe('The delivery it happened to.'),
    data: z.record(z.string(), z.unknown()).describe('More about it, by type.'),
  })
  .register(z.globalRegistry, { id: 'AuditEvent' })

export const auditList = listOf(auditEvent)
