/**
 * Goal: a program that has a store open while an operator moves it to another database stops
 * working. It must not go on in a store that nobody else looks at.
 * Method: mark the file as moved while a gate holds a lease.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claim } from '../../test/library/claim.ts'
import type { Holdfast } from './holdfast.ts'
import { openHoldfast } from './open-holdfast.ts'

const moved = {
  name: 'ConflictError',
  code: 'store_moved',
  message: 'this store was moved to postgres://db.test/ledger at 1970-01-01T00:00:00.000Z',
  hint: expect.stringContaining('Set databaseUrl to that database.'),
}

let folder: string
let databaseUrl: string
let holdfast: Holdfast

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-moved-'))
  databaseUrl = `sqlite:${join(folder, 'holdfast.db')}`
  holdfast = await openHoldfast({ databaseUrl, leaseMs: 1000 }, { onStoreError: 'open' })
})
afterEach(async () => {
  await holdfast.close()
  rmSync(folder, { recursive: true })
})

function markAsMoved(): void {
  const db = new DatabaseSync(join(folder, 'holdfast.db'), { timeout: 5000 })
  const mark = JSON.stringify({ move: 'm', to: 'postgres://db.test/ledger', at: 0 })
  db.prepare("INSERT INTO store_state (key, value) VALUES ('moved_to', ?)").run(mark)
  db.close()
}

test('its signal aborts, and every call says where the store is', async () => {
  const gate = await holdfast.checkAndClaimRun(claim)
  markAsMoved()
  if (!gate.signal.aborted) await once(gate.signal, 'abort')
  expect(gate.signal.reason).toMatchObject({ code: 'store_moved' })
  await expect(gate.complete()).rejects.toMatchObject({ code: 'store_moved' })
})

test('a claim is refused, also if the gate is to stay open without the store', async () => {
  markAsMoved()
  await expect(holdfast.checkAndClaimRun(claim)).rejects.toMatchObject(moved)
  await expect(openHoldfast({ databaseUrl }, { onStoreError: 'open' })).rejects.toMatchObject(moved)
})
