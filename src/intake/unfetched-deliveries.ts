/**
 * Webhooks of GitHub's record that it could not give us when they were fetched. They are kept with
 * how far the record was read, so that reading goes on without them, and are asked for again later
 * and later, until GitHub keeps them no more.
 */
import type { UnfetchedDelivery } from '../store/catch-up-store.ts'
import type { HookDeliveryItem } from '../github.ts'

/** More than these hold up the reading instead: then GitHub is away, not one webhook. */
const unfetchedMax = 100
const firstWaitMs = 5 * 60_000
const waitMsMax = 6 * 60 * 60_000

export class UnfetchedDeliveries {
  #items: readonly UnfetchedDelivery[]
  #isChanged = false

  constructor(items: readonly UnfetchedDelivery[]) {
    this.#items = items
  }

  get items(): readonly UnfetchedDelivery[] {
    return this.#items
  }

  /** Whether there is something that is not stored yet. */
  get isChanged(): boolean {
    return this.#isChanged
  }

  noteStored(): void {
    this.#isChanged = false
  }

  has(guid: string): boolean {
    return this.#items.some((item) => item.guid === guid)
  }

  due(now: number): readonly UnfetchedDelivery[] {
    return this.#items.filter(({ nextAt }) => nextAt <= now)
  }

  /** It could not be fetched. False when there is no room to remember it. */
  add({ id, guid, event, deliveredAt }: HookDeliveryItem, now: number): boolean {
    const tries = (this.#items.find((item) => item.guid === guid)?.tries ?? 0) + 1
    if (tries === 1 && this.#items.length >= unfetchedMax) return false
    const waitMs = Math.min(firstWaitMs * 2 ** (tries - 1), waitMsMax)
    const unfetched = { id, guid, event, deliveredAt, tries, nextAt: now + waitMs }
    this.#change([...this.#items.filter((item) => item.guid !== guid), unfetched])
    return true
  }

  remove(guid: string): void {
    if (this.has(guid)) this.#change(this.#items.filter((item) => item.guid !== guid))
  }

  #change(items: readonly UnfetchedDelivery[]): void {
    this.#items = items
    this.#isChanged = true
  }
}
