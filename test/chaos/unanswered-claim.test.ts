/**
 * Goal: the answer to a claim is lost, and the database stays away for longer than the store
 * retries. In a program that embeds Holdfast, the next claim gets that lease; over HTTP, a caller
 * gets it by repeating the claim with its Idempotency-Key.
 * Method: a real PostgreSQL behind a relay that closes together with the answer to a COMMIT. While
 * the database is away, timers fire at once.
 */
import { githubDeclarations } from '../../src/channels/github-channels.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { StoreUnavailableError } from '../../src/errors.ts'
import type { Gate, Holdfast } from '../../src/library/holdfast.ts'
import { openHoldfast } from '../../src/library/open-holdfast.ts'
import { systemRandom } from '../../src/random.ts'
import { systemScheduler, type Scheduler } from '../../src/scheduler.ts'
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { pullRequestClaim } from '../conformance/claims.ts'
import { onceOf } from '../conformance/runs/idempotency.suite.ts'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { startRelay, type Relay } from './relay.ts'

let relay: Relay
let database: TestDatabase
let holdfast: Holdfast
let isAway: boolean

/** Background loops do not run, so the claim has the only COMMIT. */
const scheduler: Scheduler = {
  ...systemScheduler,
  after: (ms, task) => systemScheduler.after(isAway ? 0 : ms, task),
  afterInBackground: () => () => undefined,
}
const silent = { debug: quiet, info: quiet, warn: quiet, error: quiet }
function quiet(): void {
  // Nobody reads it here.
}

beforeEach(async () => {
  isAway = false
  ;[relay, database] = await Promise.all([startRelay(), freshDatabase()])
  relay.aim(database.url)
  const config = { databaseUrl: relay.url(database.url) }
  holdfast = await openHoldfast(config, { scheduler, log: silent })
})
afterEach(async () => {
  await holdfast.close()
  await relay.close()
  await database.drop()
})

const claim = (options: { onStoreError?: 'open' | 'closed' } = {}, rerun = false): Promise<Gate> =>
  holdfast.checkAndClaimRun(
    { repo: 'acme/w', prNumber: 7, baseSha: 'b'.repeat(40), headSha: 'a'.repeat(40), rerun },
    options,
  )

async function loseAnswer<T>(ask: () => Promise<T>): Promise<T> {
  relay.loseServerAtCommit()
  isAway = true
  const answer = await ask()
  expect(relay.commitsLost).toBe(1)
  isAway = false
  relay.aim(database.url)
  return answer
}

it('the next claim gets the lease whose answer was lost, and can complete with it', async () => {
  const lost = await loseAnswer(() => claim())
  expect(lost).toMatchObject({ shouldProcess: false, reason: 'store-error' })
  const gate = await claim()
  expect(gate).toMatchObject({ shouldProcess: true, reason: 'new', run: { attempt: 1 } })
  expect(await gate.complete()).toMatchObject({ state: 'succeeded', round: 1 })
})

it('of two claims at once one gets the lost lease', async () => {
  await loseAnswer(() => claim())
  const gates = await Promise.all([claim(), claim()])
  expect(gates.map(({ reason }) => reason).toSorted()).toEqual(['duplicate', 'new'])
})

it('a rerun whose answer was lost starts one round, not two', async () => {
  await (await claim()).complete()
  await loseAnswer(() => claim({}, true))
  const gate = await claim({}, true)
  expect(gate).toMatchObject({ shouldProcess: true, reason: 'rerun', run: { round: 2 } })
  expect(await gate.complete()).toMatchObject({ state: 'succeeded', round: 2 })
  expect(await claim()).toMatchObject({
    reason: 'duplicate',
    run: { state: 'succeeded', round: 2 },
  })
})

it('a claim that failed open excludes others while its lost lease lasts', async () => {
  const lost = await loseAnswer(() => claim({ onStoreError: 'open' }))
  expect(lost).toMatchObject({ shouldProcess: true, reason: 'store-error', run: null })
  expect(await claim()).toMatchObject({ shouldProcess: false, reason: 'duplicate' })
})

it('a claim that is repeated with its Idempotency-Key gets the lost lease', async () => {
  const store = await openPostgres(relay.url(database.url), {
    ...{ clock: systemClock, random: systemRandom, scheduler, channels: githubDeclarations },
  })
  const once = onceOf('the caller’s key')
  const names = { repo: 'acme/w', pr: 8, head: 'a' }
  const [first, second] = [pullRequestClaim(names), pullRequestClaim(names)]
  await loseAnswer(async () => {
    await expect(store.runs.claim(first, once)).rejects.toBeInstanceOf(StoreUnavailableError)
  })
  const again = await store.runs.claim(second, once)
  expect(again).toMatchObject({ reason: 'new', lease: { secret: first.lease?.secret } })
  expect(await store.runs.claim(pullRequestClaim(names), null)).toMatchObject({
    reason: 'duplicate',
  })
  await store.close()
})
