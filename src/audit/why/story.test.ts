/**
 * Goal: a long story does not block the server. The work on it grows in proportion to its rows.
 * Method: the rows and webhooks count how often they are read, so the test needs no clock. Four
 * times the rows may be read five times as often; with quadratic growth it is sixteen times.
 */
import { expect, test } from 'vitest'
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { InboxEntry } from '../../domain/inbox.ts'
import type { PublishingRules } from '../../domain/outbox/schedule.ts'
import type { Facts } from './facts.ts'
import { storyOf } from './story.ts'

/** Rows and webhooks whose fields count each read. */
class Counted {
  reads = 0

  of<T extends object>(item: T): T {
    return new Proxy(item, {
      get: (read, name) => {
        this.reads += 1
        return Reflect.get(read, name) as unknown
      },
    })
  }
}

type RowOf = (id: number, webhook: number) => Partial<AuditRow> & { readonly type: AuditType }

const arrived = { event: 'pull_request', action: 'opened', sender: 'mona' }
const webhooksMax = 30

/** Each names one of the webhooks, and the same rows again and again. */
const stories: Readonly<Record<string, RowOf>> = {
  arrivals: (id) => ({ type: id % 2 === 0 ? 'webhook.received' : 'webhook.processed' }),
  'replays and their decisions': (id) =>
    id % 2 === 0
      ? { type: 'operator.replay_requested', data: {} }
      : { type: 'webhook.processed', causeId: id - 1 },
  'postponed decisions': (id) =>
    id % 2 === 0 ? { type: 'webhook.postponed', causeId: 1 } : { type: 'webhook.failed' },
  'repeated webhooks': () => ({ type: 'webhook.duplicate', causeId: 1 }),
  'repeats between the reports of a run': (id) =>
    id % 2 === 0
      ? { type: 'webhook.duplicate', causeId: 1 }
      : { type: 'run.service_message.updated', runId: 'run_1', inboxId: null, causeId: 1 },
  'claims that name a webhook': () => ({ type: 'run.claimed', runId: 'run_1', inboxId: null }),
  'causes of neither a run nor a webhook': (id) => ({
    type: 'store.restored',
    inboxId: null,
    causeId: id - 1,
  }),
}

/** A webhook that started a run. */
const first: readonly ReturnType<RowOf>[] = [
  { type: 'webhook.received' },
  { type: 'run.claimed', runId: 'run_1', inboxId: null, causeId: 1 },
]

function readsOf(rowOf: RowOf, count: number, onlyRunId: string | null): number {
  const counted = new Counted()
  const rows = Array.from({ length: count }, (_, i): AuditRow => {
    const webhook = i % webhooksMax
    const [id, inboxId, guid] = [i + 1, `inb_${webhook}`, `guid-${webhook}`]
    const row = { id, order: id, at: id, causeId: null, actor: 'intake', runId: null, inboxId }
    const made = first[i] ?? rowOf(id, webhook)
    const data = { ...(made.data ?? arrived), webhook_id: guid, reason: 'created', key: 'k' }
    return counted.of({ ...row, ...made, data })
  })
  const webhooks = Array.from({ length: webhooksMax }, (_, i) => {
    const result = { state: 'processed', decision: 'accepted', outcomes: [], ...arrived }
    return counted.of({
      id: `inb_${i}`,
      webhookId: `guid-${i}`,
      ...result,
    } as unknown as InboxEntry)
  })
  const facts: Facts = {
    ...{ now: 0, runs: [], rows, webhooks, removedWebhooks: new Set(), cut: false, onlyRunId },
    subjects: [{ subject: null, run: null, ahead: null }],
    ...{ deliveries: [], otherDeliveries: [], messagesBefore: new Map(), budgets: [] },
    heldSteps: new Map(),
    ...{ isOfOneDelivery: false, refusals: [], servedAt: null, tokenNames: new Map() },
    rules: {} as PublishingRules,
  }
  expect(storyOf(facts).length).toBeGreaterThan(0)
  return counted.reads
}

const cases = Object.keys(stories).flatMap((name) => [
  { name, of: 'a pull request', onlyRunId: null },
  { name, of: 'a run', onlyRunId: 'run_1' },
])

test.each(cases)(
  'work on the story of $of with many $name grows in proportion',
  ({ name, onlyRunId }) => {
    const rowOf = stories[name]
    if (rowOf === undefined) throw new Error('no such story')
    const few = readsOf(rowOf, 250, onlyRunId)
    const many = readsOf(rowOf, 1000, onlyRunId)
    expect(few).toBeGreaterThan(250)
    expect(many / few).toBeLessThan(5)
  },
)
