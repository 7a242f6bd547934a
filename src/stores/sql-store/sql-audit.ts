/** Reading the audit in the order of commits. */
import type { AuditRow } from '../../domain/audit.ts'
import type * as port from '../../store.ts'
import {
  auditAfter,
  getAudits,
  latestAudit,
  listAudit,
  numberAudits,
} from '../verbs/audit/audit-order.ts'
import type { VerbContext } from '../verbs/context.ts'
import type { VerbRunner } from './verb-runner.ts'

export class SqlAudit implements port.AuditStore {
  readonly #runner: VerbRunner
  readonly #context: VerbContext

  constructor(runner: VerbRunner) {
    this.#runner = runner
    this.#context = runner.context
  }

  async list(filter: port.AuditFilter, page: port.Page): Promise<port.Paged<AuditRow>> {
    await this.number()
    return await this.#runner.read(() => listAudit(this.#context, filter, page))
  }

  async get(ids: readonly number[]): Promise<readonly AuditRow[]> {
    if (ids.length === 0) return []
    await this.number()
    return await this.#runner.read(() => getAudits(this.#context, ids))
  }

  async after(order: number, filter: port.AuditFilter, limit: number): Promise<port.AuditBatch> {
    await this.number()
    return await this.#runner.read(() => auditAfter(this.#context, order, filter, limit))
  }

  async latestOrder(): Promise<number> {
    const found = await this.#latest()
    if (!found.hasUnnumbered) return found.order
    await this.#numberAll()
    return (await this.#latest()).order
  }

  async number(): Promise<void> {
    if (!this.#context.dialect.numbersAuditsLater) return
    const { hasUnnumbered } = await this.#latest()
    if (hasUnnumbered) await this.#numberAll()
  }

  #latest() {
    return this.#runner.read(() => latestAudit(this.#context))
  }

  async #numberAll(): Promise<void> {
    while (await this.#runner.transact(numberAudits));
  }
}
