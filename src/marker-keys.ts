/**
 * The keys in the markers of our deliveries (channels/marker.ts). They are made from facts about a
 * run on GitHub and never from data of one store, so that every store makes the same keys.
 */
import { hash } from 'node:crypto'

/** A hash, because it is part of every comment: it is short and reveals nothing. */
export function markerKeyOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}

/**
 * The key of an output that a run publishes itself. All outputs of runs of this type on these
 * commits begin with the same text, so they can be recognised without a store.
 */
export function ownMarkerKey(run: MarkedRun, text: string): string {
  return `${ownMarkerStart(run)}${markerKeyOf(text)}`
}

export function ownMarkerStart({ type, pair }: MarkedRun): string {
  return `${markerKeyOf(`${type}\n${pair}`)}.`
}

export interface MarkedRun {
  readonly type: string
  readonly pair: string
}
