/** What happened to runs, deliveries and tokens, by whom, newest first. */
import { pageView } from '../../contract/answers.ts'
import { auditView, type AuditList, type AuditQuery } from '../../contract/audit.ts'
import { emptyPage, given, pageOf } from '../listing.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const listAudit = operation(
  { scopes: ['operator', 'read'] },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    _caller,
    query: AuditQuery,
  ): Promise<AuditList> => {
    // Nothing was ever written about a task yet.
    if (query.task !== undefined) return emptyPage
    return pageView(await store.audit.list(auditFilter(query), pageOf(query)), auditView)
  },
)

export type AuditFilterQuery = Pick<AuditQuery, 'run' | 'delivery' | 'type' | 'since' | 'until'>

export function auditFilter({ run: runId, delivery, type, since, until }: AuditFilterQuery) {
  return given({ runId, deliveryId: delivery, type, since, until })
}
