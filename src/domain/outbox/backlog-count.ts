/** How far the deliveries that are not sent are counted, so that counting stays cheap. */
import type { DeliveryWait } from './delivery.ts'

/** At most this many open deliveries are counted, and as many failed ones. */
export const backlogCountMax = 1000

export interface BacklogCounts {
  readonly open: Readonly<Record<DeliveryWait, number>>
  readonly failed: number
}

/** Which counts say only how many there are at least. */
export function cappedCounts({ open, failed }: BacklogCounts) {
  const openCount = Object.values(open).reduce((sum, count) => sum + count, 0)
  return { open: openCount >= backlogCountMax, failed: failed >= backlogCountMax } as const
}
