/** Deliveries, their attempts and the budgets, as the API shows them. */
import { channelsByName } from '../channels/github-channels.ts'
import type { Budget, BudgetLimits } from '../domain/outbox/budget.ts'
import { useOf } from '../domain/outbox/budget.ts'
import type { DeliveryAttempt, Delivery } from '../domain/outbox/delivery.ts'
import { waitOf } from '../domain/outbox/delivery.ts'
import { targetText } from '../domain/outbox/target-text.ts'
import type { Paged, Store, StorePart } from '../store.ts'
import type { BudgetView, DeliveryView, DeliveryWithAttemptsView } from './deliveries.ts'
import { maybeTime, timeView } from './answers.ts'
import { shownStored } from '../stored-json.ts'

type DeliveryStore = StorePart<{ repositories: 'names'; runs: 'types' }> & Pick<Store, 'now'>

export async function deliveryPage(store: DeliveryStore, page: Paged<Delivery>) {
  const names = await namesOf(store, page.items)
  const now = store.now()
  return {
    items: page.items.map((item) => deliveryView(item, names, now)),
    next_cursor: page.nextCursor,
  }
}

export async function oneDelivery(store: DeliveryStore, item: Delivery): Promise<DeliveryView> {
  return deliveryView(item, await namesOf(store, [item]), store.now())
}

interface Names {
  readonly repositories: ReadonlyMap<string, string>
  /** By the id of the run. */
  readonly types: ReadonlyMap<string, string>
}

async function namesOf(store: DeliveryStore, items: readonly Delivery[]): Promise<Names> {
  const ids = items.map(({ repositoryId }) => repositoryId).filter((id) => id !== null)
  const runIds = items.map(({ runId }) => runId).filter((id) => id !== null)
  const repositories = await store.repositories.names(ids)
  return { repositories, types: await store.runs.types(runIds) }
}

export async function deliveryWithAttempts(
  store: DeliveryStore,
  item: Delivery,
  attempts: readonly DeliveryAttempt[],
): Promise<DeliveryWithAttemptsView> {
  return {
    ...(await oneDelivery(store, item)),
    content: shownStored(() => JSON.parse(item.content)),
    attempts: attempts.map(attemptView),
  }
}

function deliveryView(item: Delivery, { repositories, types }: Names, now: number): DeliveryView {
  const { protocol } = item
  const plannedReads = protocol.settle ?? protocol.scan
  const { repositoryId } = item
  const repo =
    repositoryId === null ? null : (repositories.get(repositoryId) ?? 'a repository that is gone')
  return {
    id: item.id,
    channel: item.channel,
    kind: item.kind,
    name: item.name,
    target: targetText(item, channelsByName.of(item.channel), repo),
    run_id: item.runId,
    type: types.get(item.runId ?? '') ?? null,
    task_id: null,
    round: item.round,
    version: { fence: item.versionFence, seq: item.versionSeq },
    status: item.status,
    wait: waitOf(item, now),
    reason: item.reason,
    // It is sent after another delivery, at a time that nobody knows.
    due_at: maybeTime(item.wait === 'order' ? null : item.dueAt),
    tries: item.tries,
    error: troubleView(item),
    in_doubt: protocol.doubt !== undefined || protocol.lost !== undefined,
    settling: protocol.unsettled === true || plannedReads !== undefined,
    provider_message_id: item.providerId,
    url: item.providerUrl,
    created_at: timeView(item.createdAt),
    updated_at: timeView(item.changedAt),
    sent_at: maybeTime(item.sentAt),
    closed_at: maybeTime(item.closedAt),
    deadline_at: timeView(item.deadlineAt),
  }
}

function troubleView({ errorCode, errorText }: Pick<Delivery, 'errorCode' | 'errorText'>) {
  return errorCode === null ? null : { code: errorCode, text: errorText }
}

function attemptView(attempt: DeliveryAttempt): DeliveryWithAttemptsView['attempts'][number] {
  return {
    id: attempt.id,
    action: attempt.action,
    version: { fence: attempt.versionFence, seq: attempt.versionSeq },
    started_at: timeView(attempt.startedAt),
    ended_at: maybeTime(attempt.endedAt),
    outcome: attempt.outcome,
    late: attempt.late,
    error: troubleView(attempt),
    http_status: attempt.httpStatus,
    request_id: attempt.requestId,
    github_request_id: attempt.githubRequestId,
    provider_message_id: attempt.providerId,
  }
}

export function budgetView(budget: Budget, limits: BudgetLimits, now: number): BudgetView {
  const { minute, hour } = useOf(budget, now)
  const { blockedUntil } = budget
  const isBlocked = blockedUntil !== null && blockedUntil > now
  const limit = (count: number): number | null => (count === 0 ? null : count)
  return {
    identity: budget.identity,
    blocked_until: isBlocked ? timeView(blockedUntil) : null,
    blocked_reason: isBlocked ? budget.blockedReason : null,
    last_write_at: maybeTime(budget.lastWriteAt),
    minute: { used: minute.all, progress: minute.progress, limit: limit(limits.perMinute) },
    hour: { used: hour.all, progress: hour.progress, limit: limit(limits.perHour) },
    spacing_ms: limits.spacingMs,
  }
}
