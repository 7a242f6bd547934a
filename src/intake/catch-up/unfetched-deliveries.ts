/**
 * Webhooks that are in GitHub's record but could not be fetched. They are stored together with how
 * far the record was read, so that reading can go on. They are asked for again, with growing waits,
 * until GitHub no longer keeps them.
 */
import type { UnfetchedDelivery } from '../../store/catch-up-store.ts'
import type { HookDeliveryItem } from '../../github.ts'

/** If there are more, the pass stops reading, because GitHub itself is probably down. */
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

  /** Whether the list changed since it was last stored. */
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

  /** Notes that it could not be fetched. False when the list is full. */
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
