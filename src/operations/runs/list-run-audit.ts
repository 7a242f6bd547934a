/** What happened to one run, newest first. */
import { pageView, type Paging } from '../../contract/answers.ts'
import { auditView, type AuditList } from '../../contract/audit.ts'
import { pageOf } from '../listing.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const listRunAudit = operation(
  { scopes: ['operator', 'worker', 'read', 'run'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    _caller,
    { id, ...paging }: Named & Paging,
  ): Promise<AuditList> => {
    const { id: runId } = await runs.get(id)
    return pageView(await store.audit.list({ runId }, pageOf(paging)), auditView)
  },
)
