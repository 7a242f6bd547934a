/**
 * Goal: when the answer to a COMMIT is lost, the caller still gets the right answer: it learns what
 * it was granted, and nothing is done twice. The same holds when the COMMIT itself is lost.
 * Method: every verb that writes is called three times in equal worlds on PostgreSQL: undisturbed,
 * with the connection cut before its COMMIT arrives, and cut before the answer arrives. The answers
 * and the audit must be equal in all three.
 */
import { addressChannel } from '../world.ts'
import { githubDeclarations } from '../../../src/channels/github-channels.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { systemRandom } from '../../../src/random.ts'
import { systemScheduler } from '../../../src/scheduler.ts'
import type { Store } from '../../../src/store.ts'
import { openPostgres, sessionOptions } from '../../../src/stores/open-postgres.ts'
import type { SqlStore } from '../../../src/stores/sql-store/sql-store.ts'
import { claimOf } from '../../chaos/claims.ts'
import { startRelay, type Relay } from '../../chaos/relay.ts'
import { freshDatabase, type TestDatabase } from '../../postgres/fresh-database.ts'
import { allScenarios } from './lost-commit-verbs.ts'
import { outcomeOf, type Outcome, type Scenario } from './verb-outcome.ts'

/** Background loops do not run, so the verb has the only COMMIT. */
const scheduler = { ...systemScheduler, afterInBackground: () => () => undefined }
const machine = { clock: systemClock, random: systemRandom, scheduler }

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
      const store = await openPostgres(relay.url(database.url), {
        ...machine,
        channels: [...githubDeclarations, addressChannel],
      })
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

async function play({ store, relay, loss, database }: Place, scenario: Scenario): Promise<Outcome> {
  const lostBefore = relay.commitsLost
  const ask = async <T>(verb: () => Promise<T>): Promise<T> => {
    if (loss !== null) relay.loseCommit(loss)
    return await verb()
  }
  const statement = (text: string) => query(database.url, text)
  const outcome = await outcomeOf(scenario, store, ask, statement)
  expect(relay.commitsLost - lostBefore).toBe(loss === null ? 0 : 1)
  return outcome
}

async function query(url: string, statement: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url, options: sessionOptions })
  await client.connect()
  const { rows } = await client.query<object>(statement).finally(() => client.end())
  return rows
}

describe.each(allScenarios)('%s', (_name, scenario) => {
  it('answers the same, and is done once', async () => {
    const [whole, ...others] = await Promise.all(places.map((place) => play(place, scenario)))
    for (const other of others) expect(other).toEqual(whole)
  })
})

it('after one lost answer each of forty callers still gets its granted run', async () => {
  const { store, relay } = places[2]!
  const claim = (pr: number, secret: string) =>
    store.runs.claim(
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
    expect(await store.runs.heartbeat(holder, null)).toMatchObject({ leaseMs: 60_000 })
  }
}
