/** The report of `doctor` in the API. */
import { z } from 'zod'

const finding = z
  .strictObject({
    check: z.string().describe('What was checked, such as `store.schema`.'),
    level: z
      .enum(['ok', 'warning', 'problem'])
      .describe('A `problem` needs to be fixed; a `warning` may stay.'),
    detail: z.string().describe('What was found.'),
    remedy: z.string().nullable().describe('What to do about it; null when nothing is wrong.'),
  })
  .register(z.globalRegistry, { id: 'Finding' })

export const doctorReport = z
  .strictObject({
    ok: z.boolean().describe('False when there is a problem.'),
    findings: z.array(finding).describe('One for each check.'),
  })
  .register(z.globalRegistry, { id: 'DoctorReport' })

export type DoctorReportView = z.infer<typeof doctorReport>
