/** Audit events in the API. */
import { z } from 'zod'
import type { AuditRow } from '../domain/audit.ts'
import { listOf, paging, pagingQuery, time, timeView } from './answers.ts'
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
    .describe('The last `id` that was received. It overrides `after`.'),
})

export const runAuditQuery = pagingQuery

export const auditEvent = z
  .strictObject({
    id: z.int().describe('Names the event. Also the fence of a claim or lease.'),
    order: z
      .int()
      .describe('Its place in the order of commits. Later events always have a higher one.'),
    cause_id: z
      .int()
      .nullable()
      .describe(
        'The `id` of the event that led to it, which may be past its retention. Null when a ' +
          'person, a program or the passing of time did.',
      ),
    at: time.describe("When it happened, by the store's clock."),
    type: z.string().describe('What happened, such as `run.claimed`.'),
    actor: z.string().describe('Who did it: `admin`, `token:ID`, `run:ID`, `sweeper` and so on.'),
    run_id: z.string().nullable().describe('The run it happened to.'),
    task_id: z.string().nullable().describe('Always null so far.'),
    delivery_id: z.string().nullable().describe('The delivery it happened to.'),
    data: z.record(z.string(), z.unknown()).describe('More about it, by type.'),
  })
  .register(z.globalRegistry, { id: 'AuditEvent' })

export const auditList = listOf(auditEvent)
export type AuditQuery = z.infer<typeof auditQuery>
export type AuditList = z.infer<typeof auditList>
export type AuditView = z.infer<typeof auditEvent>

export function auditView(row: AuditRow): AuditView {
  return {
    id: row.id,
    order: row.order,
    cause_id: row.causeId,
    at: timeView(row.at),
    type: row.type,
    actor: row.actor,
    run_id: row.runId,
    task_id: null,
    delivery_id: row.deliveryId ?? null,
    data: { ...row.data },
  }
}
