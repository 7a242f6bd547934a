/**
 * What happens from a place on, as it is committed, until the call's signal aborts. Each door
 * writes it in its own form.
 */
import type { AuditNews } from '../../audit/feed.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'
import { auditFilter, type AuditFilterQuery } from './list-audit.ts'

interface Follow extends AuditFilterQuery {
  /** Null begins with what is committed from now on. */
  readonly after: number | null
}

export const followAudit = operation(
  { scopes: ['operator', 'read'] },
  async (
    { auditFeed }: Pick<OperationPorts, 'auditFeed'>,
    _caller,
    { after, ...query }: Follow,
    { signal = new AbortController().signal },
  ): Promise<AsyncGenerator<AuditNews, void>> =>
    auditFeed.follow({ after, filter: auditFilter(query), signal }),
)
