/** The result of a verb in one world, in a form that can be compared with another world. */
import type { Store } from '../../../src/store.ts'

export type Scenario = (
  store: Store,
  /** Wraps the one call that is under test. */
  ask: <T>(verb: () => Promise<T>) => Promise<T>,
  /** Runs a statement directly on the database, for what no verb does or shows. */
  query: (statement: string) => Promise<readonly unknown[]>,
) => Promise<unknown>

export interface Outcome {
  readonly answer: unknown
  /** The types of the new audit rows, sorted. */
  readonly auditTypes: readonly string[]
}

/** The result without the values that differ each time. */
export async function outcomeOf(
  scenario: Scenario,
  ...[store, ask, query]: Parameters<Scenario>
): Promise<Outcome> {
  const before = await store.audit.latestOrder()
  const answer = comparable(await scenario(store, ask, query))
  const { rows } = await store.audit.after(before, {}, 1000)
  return { answer, auditTypes: rows.map(({ type }) => type).toSorted() }
}

const ofTheMoment =
  /(?:[Aa]t|Until|[Ff]ence|secret|Hash|Hashes|I?d|Sha|[Kk]eys?|pr|pair|subject|scope)$/

function comparable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (name, part: unknown) =>
      ofTheMoment.test(name) && part !== null ? typeof part : part,
    ),
  ) as unknown
}
