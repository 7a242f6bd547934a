/**
 * GitHub's delivery log: one record for every try to deliver a webhook, kept for three days. A
 * redelivery is a new record with the GUID of the first.
 */
import type { Clock } from '../../../clock.ts'

export interface HookDelivery {
  readonly id: number
  readonly hookId: number
  /** Of the event: redeliveries and other hooks use the same GUID. */
  readonly guid: string
  readonly event: string
  readonly action: string | null
  readonly installationId: number | null
  readonly repositoryId: number | null
  readonly deliveredAtMs: number
  readonly redelivery: boolean
  readonly durationMs: number
  /** `OK` for a 2xx; anything else is a failure, whatever the code says. */
  readonly status: string
  /** 0 when nothing was answered. */
  readonly statusCode: number
  readonly url: string
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly body: string
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly responseBody: string
}

export interface DeliveryPage {
  /** Newest first. */
  readonly items: readonly HookDelivery[]
  readonly nextCursor: string | null
}

export interface PageRequest {
  readonly perPage: number
  readonly cursor: string | null
  /** By the status code alone, as on GitHub: a try without an answer is neither. */
  readonly status: 'success' | 'failure' | null
}

export interface DeliveryLog {
  add(delivery: Omit<HookDelivery, 'id'>): HookDelivery
  page(hookId: number, request: PageRequest): DeliveryPage
  find(hookId: number, id: number): HookDelivery | null
  /** Of all hooks, oldest first. */
  all(): readonly HookDelivery[]
}

const retentionMs = 3 * 24 * 3_600_000
/** As on GitHub, ids do not fit in 32 bits: a bot that cannot store them fails its test. */
const firstId = 12_345_678_900

export function createDeliveryLog(clock: Clock): DeliveryLog {
  let records: HookDelivery[] = []
  let nextId = firstId
  const current = (): readonly HookDelivery[] => {
    const oldest = clock.wallMs() - retentionMs
    if ((records[0]?.deliveredAtMs ?? oldest) < oldest) {
      records = records.filter(({ deliveredAtMs }) => deliveredAtMs >= oldest)
    }
    return records
  }
  return {
    add(delivery) {
      const added = { ...delivery, id: nextId++ }
      records.push(added)
      return added
    },
    page(hookId, { perPage, cursor, status }) {
      const below = cursor === null ? Infinity : idOfCursor(cursor)
      const matching = current()
        .filter((delivery) => delivery.hookId === hookId && delivery.id < below)
        .filter((delivery) => status === null || outcomeOf(delivery) === status)
        .toReversed()
      const items = matching.slice(0, perPage)
      const last = items.at(-1)
      const hasMore = matching.length > items.length && last !== undefined
      return { items, nextCursor: hasMore ? `v1_${last.id}` : null }
    },
    find: (hookId, id) =>
      current().find((delivery) => delivery.hookId === hookId && delivery.id === id) ?? null,
    all: current,
  }
}

/** An invalid cursor gives an empty page, not the first one. */
function idOfCursor(cursor: string): number {
  return Number(/^v1_(\d+)$/.exec(cursor)?.[1] ?? 0)
}

function outcomeOf({ statusCode }: HookDelivery): 'success' | 'failure' | null {
  if (statusCode >= 200 && statusCode < 400) return 'success'
  return statusCode >= 400 ? 'failure' : null
}
