/**
 * Goal: work on a run that the store no longer has ends as lost; nothing is repeated without end.
 * Method: a real database file, from which a second connection removes the run.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openStore } from '../../src/open-store.ts'
import type { RunContext, RunHandler } from '../../src/run-handler.ts'
import type { Store } from '../../src/store.ts'
import { workWorld, type WorkWorld } from './work-world.ts'

let path: string
let store: Store
let world: WorkWorld | undefined
let said: string[]

beforeEach(async () => {
  path = join(mkdtempSync(join(tmpdir(), 'vanished-')), 'holdfast.db')
  store = await openStore({ database: { kind: 'sqlite', path } })
  said = []
})

afterEach(async () => {
  await world?.close()
  world = undefined
  await store.close()
})

function removeRuns(): void {
  const database = new DatabaseSync(path)
  database.exec('DELETE FROM run')
  database.close()
}

/** Resolves when the process has nothing left to do with the run. */
async function workOn(handler: RunHandler): Promise<void> {
  const begun = Promise.withResolvers<undefined>()
  const note = (_about: unknown, text?: string) => void said.push(text ?? '')
  const log = { debug: () => undefined, info: note, warn: note, error: note }
  const entered = (run: RunContext) => {
    begun.resolve(undefined)
    return handler(run)
  }
  world = await workWorld({ handlers: { job: entered }, store, leaseMs: 1000, log })
  await world.claim('job', 'k')
  await begun.promise
  expect(await world.work.stop(600_000)).toBe(0)
}

it('stops the work at the next renewal', async () => {
  const reason = Promise.withResolvers<unknown>()
  await workOn(async ({ signal }) => {
    removeRuns()
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    reason.resolve(signal.reason)
  })
  expect(await reason.promise).toMatchObject({ code: 'lease_lost' })
  expect(said).toEqual(['Working on a run', 'Done with a run'])
})

it('gives up a completion, and says so once', async () => {
  await workOn(() => removeRuns())
  expect(said).toEqual(['Working on a run', 'Could not store how a run ended'])
})

it('begins no step any more', async () => {
  let calls = 0
  const failure = Promise.withResolvers<unknown>()
  await workOn(async (run) => {
    removeRuns()
    await run.step('a', () => ++calls).catch(failure.resolve)
    expect(run.signal.aborted).toBe(true)
  })
  expect(await failure.promise).toMatchObject({ code: 'run_not_found' })
  expect(calls).toBe(0)
})

it('gives up the result of a step', async () => {
  await workOn(async (run) => {
    await run.step('a', { inDoubt: 'hold' }, () => removeRuns()).catch(() => undefined)
  })
  expect(said.filter((text) => /Could not/.test(text))).toEqual([])
})
