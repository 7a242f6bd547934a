/** Flow events on the wire. */
import { z } from 'zod'
import { listOf, paging, time } from './answers.ts'
import { id, instant } from './fields.ts'

export const auditQuery = z.strictObject({
  run: id.optional(),
  task: id.optional(),
  delivery: id.optional(),
  type: z
    .string()
    .regex(/^[a-z][a-z0-9._]{0,99}$/, 'must be an audit type such as run.claimed')
    .optional(),
  since: instant.optional().describe('At or after.'),
  until: instant.optional().describe('Before.'),
  ...paging,
})

export const runAuditQuery = z.strictObject(paging)

export const auditEvent = z
  .strictObject({
    id: z.int(),
    at: time,
    type: z.string(),
    actor: z.string(),
    run_id: z.string().nullable(),
    task_id: z.string().nullable(),
    delivery_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .register(z.globalRegistry, { id: 'AuditEvent' })

export const auditList = listOf(auditEvent)
