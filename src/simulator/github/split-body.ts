/** Splits a body into parts, to send it slowly. A cut body has only its first half. */
import type { Outcome } from './faults/fault.ts'

export function splitBody(outcome: Outcome & { readonly kind: 'slow-body' }): Uint8Array[] {
  const { answer, parts, cut } = outcome
  const whole = Buffer.from(answer.body)
  const sent = cut ? whole.subarray(0, Math.floor(whole.length / 2)) : whole
  const size = Math.max(1, Math.ceil(sent.length / parts))
  return Array.from({ length: Math.ceil(sent.length / size) }, (_, index) =>
    sent.subarray(index * size, (index + 1) * size),
  )
}
