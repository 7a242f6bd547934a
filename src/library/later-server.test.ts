/**
 * Goal: a program and its server may be started in any order. What the program claims after the
 * server's first start is published.
 * Method: open the library first, and give the store a server's first sign of life afterwards.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claim } from '../../test/library/claim.ts'
import { githubDeclarations } from '../channels/github-channels.ts'
import { systemMachine } from '../open-store.ts'
import type { Store } from '../store.ts'
import { openSqlite } from '../stores/open-sqlite.ts'
import type { Holdfast } from './holdfast.ts'
import { openHoldfast } from './open-holdfast.ts'

let folder: string
let holdfast: Holdfast
let store: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-later-server-'))
  const path = join(folder, 'holdfast.db')
  holdfast = await openHoldfast({ databaseUrl: `sqlite:${path}` })
  store = openSqlite({ path, exclusive: false }, { ...systemMachine, channels: githubDeclarations })
})
afterEach(async () => {
  await holdfast.close()
  await store.close()
  rmSync(folder, { recursive: true })
})

async function announced(): Promise<readonly string[]> {
  const { items } = await store.outbox.list({}, { limit: 10, cursor: null })
  return items.map(({ channel }) => channel).toSorted()
}

test('a claim announces nothing while no server ever ran', async () => {
  await (await holdfast.checkAndClaimRun(claim)).complete()
  expect(await announced()).toEqual([])
})

test("a claim after the server's first start is announced, without opening again", async () => {
  await store.upkeep.beat()
  await (await holdfast.checkAndClaimRun(claim)).complete()
  expect(await announced()).toEqual(['github-comment', 'github-status'])
})
