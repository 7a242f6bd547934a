/** The server examines itself. */
import type { DoctorReportView } from '../contract/doctor.ts'
import { operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'

export const getDoctorReport = operation(
  { scopes: ['operator', 'read'] },
  async ({ doctor }: Pick<OperationPorts, 'doctor'>): Promise<DoctorReportView> => {
    const { ok, findings } = await doctor()
    return { ok, findings: [...findings] }
  },
)
