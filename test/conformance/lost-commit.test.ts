/**
 * Goal: when the answer to a COMMIT is lost, the caller hears what it would have heard: whoever was
 * granted something knows it, and nothing is done twice. The same when the COMMIT itself is lost.
 * Method: every verb that writes is asked three times in equal worlds on PostgreSQL: undisturbed,
 * with the connection cut before its COMMIT arrives, and cut before the answer does. What is
 * answered and what the audit tells must be equal in all three.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { systemRandom } from '../../src/random.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import type { Store } from '../../src/store.ts'
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { SqlCatchUp } from '../../src/stores/sql-catch-up.ts'
import { SqlOutbox } from '../../src/stores/sql-outbox.ts'
import { SqlStore } from '../../src/stores/sql-store.ts'
import { SqlTokens } from '../../src/stores/sql-tokens.ts'
import { claimOf } from '../chaos/claims.ts'
import { startRelay, type Relay } from '../chaos/relay.ts'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { outboxVerbs, reads, runVerbs, type Scenario } from './lost-commit-verbs.ts'

/** Background loops stay still: no COMMIT but the verb's own. */
const scheduler = { ...systemScheduler, afterInBackground: () => () => undefined }
const seams = { clock: systemClock, random: systemRandom, scheduler }

type Loss = 'request' | 'answer' | null
const losses: readonly Loss[] = [null, 'request', 'answer']

interface Place {
  readonly loss: Loss
  readonly relay: Relay
  readonly database: TestDatabase
  readonly store: SqlStore
}

let places: readonly Place[]

beforeAll(async () => {
  places = await Promise.all(
    losses.map(async (loss) => {
      const [relay, database] = await Promise.all([startRelay(), freshDatabase()])
      relay.aim(database.url)
      const store = await openPostgres(relay.url(database.url), seams)
      return { loss, relay, database, store }
    }),
  )
})
afterAll(async () => {
  for (const { store, relay, database } of places) {
    await store.close()
    await relay.close()
    await database.drop()
  }
})

/** What is answered and told, without what differs from one time to the next. */
async function play({ store, relay, loss, database }: Place, scenario: Scenario): Promise<unknown> {
  const lostBefore = relay.commitsLost
  const told = await store.latestAuditOrder()
  const ask = async <T>(verb: () => Promise<T>): Promise<T> => {
    if (loss !== null) relay.loseCommit(loss)
    return await verb()
  }
  const answer = await scenario(store, ask, (statement) => change(database.url, statement))
  expect(relay.commitsLost - lostBefore).toBe(loss === null ? 0 : 1)
  const { rows: audits } = await store.auditAfter(told, {}, 1000)
  return { answer: comparable(answer), told: audits.map(({ type }) => type).toSorted() }
}

async function change(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
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

// The outbox first: what a start makes, its first key, is still to be made then.
describe.each(Object.entries({ ...outboxVerbs, ...runVerbs }))('%s', (_name, scenario) => {
  it('answers the same, and is done once', async () => {
    const [whole, ...others] = await Promise.all(places.map((place) => play(place, scenario)))
    for (const other of others) expect(other).toEqual(whole)
  })
})

it('every verb of the store is tried here or only reads', () => {
  const methods = (of: { readonly prototype: object }): string[] =>
    Object.getOwnPropertyNames(of.prototype).filter((name) => name !== 'constructor')
  const tried = (verbs: object): string[] => Object.keys(verbs).map((name) => name.split(',')[0]!)
  const known = [...tried(runVerbs), ...reads.store]
  const all = [SqlStore, SqlTokens, SqlCatchUp].flatMap(methods)
  expect(new Set(known)).toEqual(new Set(all))
  expect(new Set([...tried(outboxVerbs), ...reads.outbox])).toEqual(new Set(methods(SqlOutbox)))
})

it('one lost answer leaves none of forty callers without the run it was granted', async () => {
  const { store, relay } = places[2]!
  const claim = (pr: number, secret: string) =>
    store.claimRun(
      claimOf({ pr, head: 'a', secret, leaseMs: 60_000, actor: 'test', now: store.now() }),
      null,
    )
  const lostBefore = relay.commitsLost
  relay.loseCommit('answer')
  const pulls = Array.from({ length: 40 }, (_, i) => 1000 + i)
  const answers = await Promise.all(pulls.map((pr) => claim(pr, `first ${pr}`)))
  expect(relay.commitsLost).toBe(lostBefore + 1)
  expect(answers.map(({ reason }) => reason)).toEqual(pulls.map(() => 'new'))
  await expectHeld(store, answers)
})

async function expectHeld(
  store: Store,
  answers: readonly {
    readonly run: { readonly id: string; readonly leaseHash: string | null } | null
  }[],
): Promise<void> {
  for (const { run } of answers) {
    const { id: runId, leaseHash } = run!
    const holder = { runId, leaseHash: leaseHash ?? '', leaseMs: null, actor: 'test' }
    expect(await store.heartbeatRun(holder, null)).toMatchObject({ leaseMs: 60_000 })
  }
}
