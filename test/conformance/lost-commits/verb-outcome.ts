/** What a verb of the store came to in one world, so that it can be compared with another world. */
import type { Store } from '../../../src/store.ts'

export type Scenario = (
  store: Store,
  /** Around the one call that is under test. */
  ask: <T>(verb: () => Promise<T>) => Promise<T>,
  /** A statement straight to the database, for what no verb of ours would do, or show. */
  query: (statement: string) => Promise<readonly unknown[]>,
) => Promise<unknown>

export interface Outcome {
  readonly answer: unknown
  /** What the audit tells. */
  readonly auditTypes: readonly string[]
}

/** Without what differs from one time to the next. */
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
