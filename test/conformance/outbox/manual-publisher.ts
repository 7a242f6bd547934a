/**
 * A publisher that a test drives step by step, without a GitHub. The test leases what is due,
 * begins attempts, and decides how each of them ends.
 */
import { channelsByName } from '../../../src/channels/github-channels.ts'
import type { BudgetLimits } from '../../../src/domain/outbox/budget.ts'
import type { DeliveryAttempt, Delivery } from '../../../src/domain/outbox/delivery.ts'
import { actionOf } from '../../../src/domain/outbox/protocol/next-step.ts'
import type { AttemptEnd } from '../../../src/domain/outbox/outcome.ts'
import type { Announcement } from '../../../src/domain/run.ts'
import type { BeginAnswer, BeginRequest, LeasedDelivery } from '../../../src/store/outbox-store.ts'
import type { Store } from '../../../src/store.ts'

export const announced: Announcement = {
  anchorPer: 'subject',
  statusContext: 'holdfast/review',
  checkName: 'holdfast/review',
  locale: 'en',
}

export const noLimits: BudgetLimits = { spacingMs: 0, perMinute: 0, perHour: 0 }
export const identity = 'token'

let ids = 0

/** The end of an attempt that GitHub answered. */
export const sentEnd = (over: { readonly providerId?: string } = {}): AttemptEnd => {
  ids += 1
  return {
    what: 'sent',
    providerId: String(ids),
    url: `http://gh/${ids}`,
    hash: `h${ids}`,
    ...over,
  }
}

export const noAnswer: AttemptEnd = {
  what: 'in_doubt',
  trouble: { code: 'unanswered', text: 'no answer' },
  after: null,
  looks: 2,
}

export class ManualPublisher {
  readonly #on: { readonly store: Store }

  constructor(on: { readonly store: Store }) {
    this.#on = on
  }

  get store(): Store {
    return this.#on.store
  }

  /** The deliveries of a run by their names. Of several with one name, the newest. */
  async of(runId: string): Promise<Readonly<Record<string, Delivery>>> {
    const page = { limit: 100, cursor: null }
    const { items } = await this.store.outbox.list({ runId }, page)
    return Object.fromEntries(items.toReversed().map((item) => [item.name, item]))
  }

  async named(runId: string, name: string): Promise<Delivery> {
    const found = (await this.of(runId))[name]
    if (found === undefined) throw new Error(`the run has no delivery ${name}`)
    return found
  }

  lease(limit = 100): Promise<readonly LeasedDelivery[]> {
    return this.store.outbox.lease({ limit, progressMax: limit })
  }

  /** Leases everything that is due and returns the delivery with this name. */
  async leaseNamed(name: string): Promise<LeasedDelivery> {
    const found = (await this.lease()).find(({ delivery }) => delivery.name === name)
    if (found === undefined) throw new Error(`${name} is not due`)
    return found
  }

  begin(leased: LeasedDelivery, over: Partial<BeginRequest> = {}): Promise<BeginAnswer> {
    const { delivery, lease } = leased
    const { versionFence, versionSeq } = delivery
    return this.store.outbox.beginAttempt({
      lease,
      action: actionOf(delivery, channelsByName.of(delivery.channel)),
      versionFence,
      versionSeq,
      providerId: null,
      identity,
      limits: noLimits,
      isTurn: leased.fromQueue !== null,
      ...over,
    })
  }

  async begun(leased: LeasedDelivery): Promise<DeliveryAttempt> {
    const answer = await this.begin(leased)
    if (answer.result !== 'begun') throw new Error(`not begun: ${answer.result}`)
    return answer.attempt
  }

  end(
    { lease }: LeasedDelivery,
    attempt: DeliveryAttempt,
    end: AttemptEnd,
  ): Promise<'recorded' | 'failed' | 'late'> {
    const facts = { httpStatus: null, requestId: null, githubRequestId: null }
    return this.store.outbox.endAttempt(lease, { attempt, end, identity, ...facts })
  }

  async send(
    leased: LeasedDelivery,
    end: AttemptEnd = sentEnd(),
  ): Promise<'recorded' | 'failed' | 'late'> {
    return await this.end(leased, await this.begun(leased), end)
  }

  /** Sends everything that is due. */
  async publish(): Promise<void> {
    for (;;) {
      const due = await this.lease()
      if (due.length === 0) return
      for (const leased of due) await this.send(leased)
    }
  }

  /** The types of a delivery's audit rows, oldest first. */
  async auditTypes(deliveryId: string): Promise<readonly string[]> {
    const { items } = await this.store.audit.list({ deliveryId }, { limit: 1000, cursor: null })
    return items.toReversed().map(({ type }) => type)
  }
}

export const contentOf = ({ content }: Delivery) =>
  JSON.parse(content) as Readonly<Record<string, unknown>> & {
    readonly view: { readonly state: string; readonly past: readonly unknown[] }
  }
