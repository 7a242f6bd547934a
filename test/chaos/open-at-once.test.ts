/**
 * Goal: many processes can create and open a store at once, also after a process was killed while
 * it created the store; a SQLite file has one server at a time, and is free when that server has
 * ended.
 * Method: real processes that start at the same moment, and SIGKILL.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadMigrations } from '../../src/stores/migrations.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { startChild, startTogether, type Child } from './child.ts'
import type { OpenConfig } from './open-program.ts'
import { openStore } from './open-store.ts'

// Many processes take long to start on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let folder: string
let path: string
let children: Child[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-open-'))
  path = join(folder, 'holdfast.db')
  children = []
})
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()))
  rmSync(folder, { recursive: true })
})

async function openTogether(count: number, config: OpenConfig) {
  const started = await startTogether(
    'open-program.ts',
    Array.from({ length: count }, () => config),
  )
  children.push(...started)
  return Promise.all(started.map(({ report }) => report)) as Promise<
    { opened: boolean; code?: string }[]
  >
}

describe('SQLite', () => {
  it.each([2, 8])(
    '%i processes that create one file at once all open the same file',
    async (count) => {
      const results = await openTogether(count, { database: { kind: 'sqlite', path } })
      expect(results).toEqual(Array.from({ length: count }, () => ({ opened: true })))
      await Promise.all(children.map((child) => child.kill()))
      const db = new DatabaseSync(path)
      expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
      const applied = db.prepare('SELECT version FROM migration ORDER BY 1').all()
      expect(applied).toEqual(loadMigrations('sqlite').map(({ version }) => ({ version })))
      db.close()
    },
  )

  it('of several servers that start at once exactly one locks the file', async () => {
    for (let round = 0; round < 3; round++) {
      const results = await openTogether(3, { database: { kind: 'sqlite', path }, exclusive: true })
      expect(results.filter(({ opened }) => opened)).toHaveLength(1)
      expect(results.filter(({ code }) => code === 'store_in_use')).toHaveLength(2)
      await Promise.all(children.map((child) => child.kill()))
    }
  })

  it('a file is free at once after its server is killed', async () => {
    const database = { kind: 'sqlite', path } as const
    const [first] = await openTogether(1, { database, exclusive: true })
    expect(first).toEqual({ opened: true })
    const [second, beside] = [
      await openTogether(1, { database, exclusive: true }),
      await openTogether(1, { database, exclusive: false }),
    ]
    expect(second).toMatchObject([{ opened: false, code: 'store_in_use' }])
    expect(second[0]).toHaveProperty('hint')
    expect(beside).toEqual([{ opened: true }])
    await children[0]!.kill()
    expect(await openTogether(1, { database, exclusive: true })).toEqual([{ opened: true }])
  })

  it('a process killed while it creates the file does not block the next process', async () => {
    const waves = [0, 1, 2, 3]
    let hadNoFile = 0
    const makeAndKill = async (round: number): Promise<void> => {
      const place = join(folder, `round-${round}`)
      const database = { kind: 'sqlite', path: join(place, 'holdfast.db') } as const
      const victim = startChild('open-program.ts', { database } satisfies OpenConfig)
      await victim.ready
      victim.go()
      await pause(round)
      await victim.kill()
      if (!existsSync(database.path)) hadNoFile++
      const store = await openStore(database, true)
      expect(await store.upkeep.recordMode('live')).toBe('live')
      await store.close()
    }
    for (const wave of waves) {
      await Promise.all([0, 1, 2, 3, 4].map((i) => makeAndKill(wave + i * waves.length)))
    }
    // Otherwise all the kills came too late to test anything.
    expect(hadNoFile).toBeGreaterThan(0)
  })
})

describe('PostgreSQL', () => {
  it.each([2, 8])('%i processes that migrate one empty database at once all open it', async (n) => {
    const database = await freshDatabase()
    const { url } = database
    const results = await openTogether(n, { database: { kind: 'postgres', url } })
    expect(results).toEqual(Array.from({ length: n }, () => ({ opened: true })))
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query('SELECT version::int FROM holdfast.migration ORDER BY 1')
    await client.end()
    expect(rows).toEqual(loadMigrations('postgres').map(({ version }) => ({ version })))
    await Promise.all(children.map((child) => child.kill()))
    await database.drop()
  })
})
