/** A mutant: the product with one part made faulty, and the rules that may notice it. */
import type { OutboxStore } from '../../../src/store/outbox-store.ts'
import type { Rule } from '../../../src/simulation/findings.ts'
import type { Mutation } from '../../../src/simulation/node.ts'
import { replaceParts } from '../../../src/simulation/replace-parts.ts'
import type { Store } from '../../../src/store.ts'

export interface Mutant {
  /** A seed that shows the fault, tried first. Change it when the worlds have changed. */
  readonly seed: number
  readonly mutation: Mutation
  /** One of them must notice it; which one depends on the seed. */
  readonly rules: readonly Rule[]
}

export type Mutants = Readonly<Record<string, Mutant>>

export function withOutbox(store: Store, changed: Partial<OutboxStore>): Store {
  return replaceParts(store, { outbox: replaceParts(store.outbox, changed) })
}
