/**
 * Goal: a program that embeds Holdfast beside a queue tells other processes what it changed, hears
 * from them, and never waits for Redis.
 * Method: a private Redis and PostgreSQL. Another process is an engine of its own on the store.
 * What is said before both listen is lost, so it is said until it is heard.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Engine } from '../../src/engine.ts'
import { openHoldfast, type Holdfast, type OpenOptions } from '../../src/index.ts'
import { openStore, systemMachine } from '../../src/open-store.ts'
import type { Store } from '../../src/store.ts'
import { openEngine, stopEngines } from '../conformance/engines/bullmq-engines.ts'
import { TestListener, timed } from '../conformance/engines/engine-listener.ts'
import { migratedDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { RedisServer } from '../redis/server.ts'
import { until } from '../scenarios/until.ts'
import { claim } from './claim.ts'

let redis: RedisServer
let database: TestDatabase
let store: Store
let other: Engine
let listener: TestListener
const opened: Holdfast[] = []

beforeEach(async () => {
  redis = await RedisServer.start()
  database = await migratedDatabase()
  store = await openStore({ database: { kind: 'postgres', url: database.url } })
  other = openEngine(redis.url, await store.upkeep.storeId())
  listener = new TestListener()
  other.listen(['review'], listener)
}, 60_000)

afterEach(async () => {
  await Promise.all(opened.splice(0).map((holdfast) => holdfast.close()))
  await stopEngines()
  await store.close()
  await database.drop()
  await redis.stop()
})

async function open(options: OpenOptions = {}): Promise<Holdfast> {
  const holdfast = await openHoldfast({ databaseUrl: database.url, queueUrl: redis.url }, options)
  opened.push(holdfast)
  return holdfast
}

let pulls = 0
const nextPull = () => ({ ...claim, prNumber: (pulls += 1) })

it('a run that waits for a worker is announced', async () => {
  const holdfast = await open()
  await until(
    async () => {
      const gate = await holdfast.checkAndClaimRun(nextPull())
      await store.runs.rerun(gate.run?.id ?? '', 'ann', null)
      await gate.complete()
      return listener.runIds
    },
    (heard) => heard.length > 0,
  )
})

it('a run that was superseded is announced as lost', async () => {
  const holdfast = await open()
  await until(
    async () => {
      const pull = nextPull()
      await holdfast.checkAndClaimRun(pull)
      await holdfast.checkAndClaimRun({ ...pull, headSha: 'c'.repeat(40), eventAt: new Date(1000) })
      return listener.lost
    },
    (lost) => lost.length > 0,
  )
})

it('the loss of a run that another process announces stops the work at once', async () => {
  // Without the queue it would be found by looking at the store.
  const neverLooking: OpenOptions['scheduler'] = {
    ...systemMachine.scheduler,
    afterInBackground: (ms, task) =>
      ms === 500 ? () => undefined : systemMachine.scheduler.afterInBackground(ms, task),
  }
  const holdfast = await open({ scheduler: neverLooking })
  const gate = await holdfast.checkAndClaimRun(nextPull())
  const runId = gate.run?.id ?? ''
  await store.runs.cancel(runId, 'ann', null)
  await until(
    async () => {
      other.announceLost([runId])
      return gate.signal.aborted
    },
    (aborted) => aborted,
    10_000,
  )
  expect(gate.signal.reason).toMatchObject({ code: 'cancelled' })
})

it.each(['frozen', 'away'] as const)('a Redis that is %s delays nothing', async (how) => {
  if (how === 'frozen') redis.freeze()
  else await redis.stop()
  const holdfast = await open()
  const took = await timed(async () => {
    const gate = await holdfast.checkAndClaimRun(nextPull())
    await gate.complete()
    await holdfast.close()
  })
  expect(took).toBeLessThan(3000)
  if (how === 'frozen') redis.unfreeze()
  else await redis.startAgain()
})
