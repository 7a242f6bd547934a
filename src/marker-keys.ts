/**
 * What the markers of our deliveries are known by (channels/marker.ts). Made from what a run is on
 * GitHub, never from anything of one store, so that every store makes the same.
 */
import { hash } from 'node:crypto'

/** Part of every comment we write: short, and telling nothing. */
export function markerKeyOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}

/**
 * Of something that a run publishes itself. It begins with what is the same for all that a run of
 * this type on these commits publishes, so that it is known for such without a store.
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
