/** Operations on the audit: list it, follow it, and explain what happened. */
import type { AuditNews } from '../audit/feed.ts'
import { explain as explainIn, explainRun as explainRunIn } from '../audit/why.ts'
import { pageView } from '../contract/answers.ts'
import { type AuditList, type AuditQuery, auditView } from '../contract/audit.ts'
import { type WhyView, whyView } from '../contract/why.ts'
import { emptyPage, givenFilters, pageOf } from './listing.ts'
import { type WithId, operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'

/** What happened to runs, deliveries and tokens, by whom, newest first. */
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
  return givenFilters({ runId, deliveryId: delivery, type, since, until })
}

interface Follow extends AuditFilterQuery {
  /** Null: begin with what is committed from now on. */
  readonly after: number | null
}

/**
 * Events after a place, as they are committed, until the call's signal aborts. Each caller writes
 * them in its own form.
 */
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

/** What happened to a pull request, run, delivery or webhook, why, and what a person can do. */
export const explain = operation(
  { scopes: ['operator', 'read'] },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    _caller,
    { q }: { readonly q: string },
  ): Promise<WhyView> => whyView(await explainIn(store, q)),
)

/** The same as `explain`, for one run that the caller reaches. */
export const explainRun = operation(
  { scopes: ['operator', 'read', 'run'], within: 'run' },
  async ({ store }: Pick<OperationPorts, 'store'>, _caller, { id }: WithId): Promise<WhyView> =>
    whyView(await explainRunIn(store, id)),
)
