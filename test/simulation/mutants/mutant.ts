/** What a mutant is: one part of the product changed, and the rules that may notice it. */
import type { OutboxStore } from '../../../src/store/outbox-store.ts'
import type { Rule } from '../../../src/simulation/findings.ts'
import { replaceParts, type Mutation } from '../../../src/simulation/node.ts'
import type { Store } from '../../../src/store.ts'

export interface Mutant {
  /** One of those that show it, tried first. It may be another when the worlds have changed. */
  readonly seed: number
  readonly mutation: Mutation
  /** Any of them is enough: which one breaks first depends on the seed. */
  readonly rules: readonly Rule[]
}

export type Mutants = Readonly<Record<string, Mutant>>

export function withOutbox(store: Store, changed: Partial<OutboxStore>): Store {
  return replaceParts(store, { outbox: replaceParts(store.outbox, changed) })
}
