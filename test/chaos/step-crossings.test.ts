/**
 * Goal: a holder that begins or ends a step at the moment when its run is given to somebody else
 * gives the same result as one after the other: no step begins that the next holder does not see,
 * and no result replaces a step that was begun again.
 * Method: two stores on one PostgreSQL database; a statement of one store is held at a gate while
 * the other store continues.
 */
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { LeaseAnswer, Store } from '../../src/store.ts'
import { grant, holderOf, leaseMs } from '../conformance/claims.ts'
import { codeOf, StepHolder } from '../conformance/steps/step-holder.ts'
import { TestSubject } from '../conformance/test-subject.ts'
import { TestClock } from '../conformance/world.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { until } from '../scenarios/until.ts'
import { withGates } from './faulty-driver.ts'
import { openDriver, openStore, storeOver } from './open-store.ts'

/** The numbers of the advisory locks that serve as gates. */
const [steps, afterRunIsWritten] = [1, 2]

let database: Awaited<ReturnType<typeof freshDatabase>>
let here: Store
let there: Store
let gates: pg.Client
let subject: TestSubject
let held: LeaseAnswer
const shutNow = new Set<number>()
beforeEach(async () => {
  database = await freshDatabase()
  const at = { kind: 'postgres', url: database.url } as const
  here = await openStore(at)
  there = storeOver(
    withGates(await openDriver(at), [
      [/^INSERT INTO step/, steps],
      [/^SELECT [^;]+ FROM subject WHERE id = \?/, afterRunIsWritten],
    ]),
  )
  gates = new pg.Client({ connectionString: database.url })
  await gates.connect()
  subject = new TestSubject({ store: here, clock: new TestClock(), close: async () => undefined })
  await subject.claim('a', { lease: null })
  held = await lease()
})
afterEach(async () => {
  for (const gate of shutNow) await open(gate)
  await gates.end()
  await here.close()
  await there.close()
  await database.drop()
})

async function shut(gate: number): Promise<void> {
  await gates.query('SELECT pg_advisory_lock($1)', [gate])
  shutNow.add(gate)
}
async function open(gate: number): Promise<void> {
  shutNow.delete(gate)
  await gates.query('SELECT pg_advisory_unlock($1)', [gate])
}

/** Resolves when a statement waits at the gate. */
const reached = (gate: number) =>
  until(
    () =>
      gates.query(
        `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1`,
        [gate],
      ),
    ({ rowCount }) => rowCount === 1,
  )

/** Resolves when a transaction waits for a lock of another one. */
const blocked = () =>
  until(
    () => gates.query(`SELECT 1 FROM pg_locks WHERE locktype <> 'advisory' AND NOT granted`),
    ({ rowCount }) => rowCount !== 0,
  )

async function lease(): Promise<LeaseAnswer> {
  const grants = [grant({ holder: 'executor', worker: 'node' })]
  const request = { leaseMs, type: subject.type, askedOnly: false, actor: 'executor' }
  const [leased] = await here.runs.leaseMany({ ...request, grants })
  return leased!
}

/** The run is taken from its holder and given to another one. */
async function giveToNext(): Promise<LeaseAnswer> {
  await here.runs.takeOverExecutors()
  return await lease()
}

it('a step that begins before its run is given away is known to the next holder', async () => {
  await shut(steps)
  const beginning = new StepHolder(there, held).begin('model')
  await reached(steps)
  const giving = giveToNext()
  await Promise.race([giving, blocked()])
  await open(steps)
  expect(await beginning).toMatchObject({ reply: 'began' })
  const next = await giving
  expect(next.steps).toMatchObject([{ name: 'model', fence: held.run.fence }])
  expect(await new StepHolder(here, next).begin('model')).toMatchObject({ reply: 'in-doubt' })
})

it('a step does not begin while its run is being given away', async () => {
  await shut(afterRunIsWritten)
  const releasing = there.runs.release(holderOf(held), null)
  await reached(afterRunIsWritten)
  const beginning = codeOf(new StepHolder(here, held).begin('model'))
  await Promise.race([beginning, blocked()])
  await open(afterRunIsWritten)
  await releasing
  expect(await beginning).toBe('lease_lost')
  expect((await lease()).steps).toEqual([])
})

it('a late result at the moment of a take-over changes nothing', async () => {
  const old = new StepHolder(there, held)
  await old.begin('model')
  const next = new StepHolder(here, await giveToNext())
  await shut(steps)
  const recording = codeOf(old.record('model', '"late"'))
  await reached(steps)
  expect(await next.takeOver('model')).toMatchObject({ reply: 'began' })
  await open(steps)
  expect(await recording).toBe('lease_lost')
  const step = await here.steps.get(next.runId, 'model')
  expect(step).toMatchObject({ state: 'started', startId: next.startId('model'), result: null })
  const { items } = await here.audit.list({ type: 'step.late' }, { limit: 9, cursor: null })
  expect(items).toMatchObject([{ data: { counted: false } }])
})

it('a take-over at the moment of a late result finds the result', async () => {
  const old = new StepHolder(here, held)
  await old.begin('model')
  const next = new StepHolder(there, await giveToNext())
  await shut(steps)
  const taking = next.takeOver('model')
  await reached(steps)
  expect(await codeOf(old.record('model', '"late"'))).toBe('lease_lost')
  await open(steps)
  expect(await taking).toMatchObject({ reply: 'known', step: { result: '"late"' } })
})

it('a step that is held at the moment of its late result has the result', async () => {
  const old = new StepHolder(here, held)
  await old.begin('model')
  const next = new StepHolder(there, await giveToNext())
  await shut(steps)
  const holding = next.hold('model')
  await reached(steps)
  const recording = codeOf(old.record('model', '"late"'))
  await Promise.race([recording, blocked()])
  await open(steps)
  expect(await holding).toMatchObject({ reply: 'held' })
  expect(await recording).toBe('lease_lost')
  expect(await here.steps.get(old.runId, 'model')).toMatchObject({ result: '"late"' })
  expect(await subject.run('a')).toMatchObject({ state: 'pending', attempt: 2 })
})

it('a run that is purged takes no step back', async () => {
  const old = new StepHolder(there, held)
  await old.begin('model')
  await here.runs.cancel(old.runId, 'ann', null)
  await shut(steps)
  const recording = codeOf(old.record('model'))
  await reached(steps)
  const limits = { finishedMs: -1000, supersededMs: 0, auditMs: 1e12, eventMs: 1e12 }
  const purging = here.upkeep.purge(limits, 'purge')
  await Promise.race([purging, blocked()])
  await open(steps)
  expect(await recording).toBe('cancelled')
  await purging
  expect(await here.steps.list(old.runId, 1)).toEqual([])
})
