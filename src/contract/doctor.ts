/** What a server finds when it examines itself. */
import { z } from 'zod'

const finding = z
  .strictObject({
    check: z.string().describe('What was looked at, such as `store.schema`.'),
    level: z.enum(['ok', 'warning', 'problem']).describe('A warning may be lived with.'),
    detail: z.string().describe('How it is.'),
    remedy: z.string().nullable().describe('What to do about it; null when all is well.'),
  })
  .register(z.globalRegistry, { id: 'Finding' })

export const doctorReport = z
  .strictObject({
    ok: z.boolean().describe('False when there is a problem.'),
    findings: z.array(finding).describe('One for each thing that was looked at.'),
  })
  .register(z.globalRegistry, { id: 'DoctorReport' })

export type DoctorReportView = z.infer<typeof doctorReport>
