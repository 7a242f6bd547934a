/** What goes first of all that is due. */
import type { Delivery } from './delivery.ts'

/**
 * Creates and ends; progress; reads that repair; and further messages of a run that has one waiting
 * already. The numbers are the store's.
 */
export const priorities = { first: 0, progress: 1, repair: 2, further: 3 } as const

/** An edit that a later one will replace: it may wait for everything else. */
export function isProgress({ final, sentFence, versionFence }: Delivery): boolean {
  return !final && sentFence === versionFence
}

/** Of a version that is to be sent, unless it is a further message. */
export function priorityToSend(delivery: Delivery): number {
  return isProgress(delivery) ? priorities.progress : priorities.first
}
