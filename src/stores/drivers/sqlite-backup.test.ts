import { githubDeclarations } from '../../channels/github-channels.ts'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../clock.ts'
import { systemRandom } from '../../random.ts'
import { systemScheduler } from '../../scheduler.ts'
import { openSqlite } from '../open-sqlite.ts'
import { backupSqlite } from './sqlite-backup.ts'

const machine = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }
let folder = ''
let path = ''
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-backup-'))
  path = join(folder, 'holdfast.db')
  await openSqlite({ path, exclusive: false }, { ...machine, channels: githubDeclarations }).close()
})

const copyTo = (
  name: string,
  more: { replace?: boolean; onProgress?: (share: number) => void } = {},
) =>
  backupSqlite(path, {
    target: join(folder, name),
    replace: false,
    random: systemRandom,
    onProgress: () => undefined,
    ...more,
  })

function countIn(file: string, table: string): number {
  const db = new DatabaseSync(file, { readOnly: true })
  const { count } = db.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number }
  db.close()
  return count
}

/** A table for the test alone, so large that copying takes several steps. */
function fill(rows: number): DatabaseSync {
  const writer = new DatabaseSync(path)
  writer.exec('CREATE TABLE filling (id INTEGER PRIMARY KEY, text TEXT); BEGIN')
  const insert = writer.prepare('INSERT INTO filling (text) VALUES (?)')
  for (let at = 0; at < rows; at++) insert.run('x'.repeat(2000))
  writer.exec('COMMIT')
  return writer
}

describe('a copy', () => {
  test('shows one moment, even if others write while it is made', async () => {
    const writer = fill(20_000)
    const shares: number[] = []
    await copyTo('copy.db', {
      onProgress: (share) => {
        shares.push(share)
        writer.exec(`DELETE FROM filling WHERE id = ${shares.length}`)
      },
    })
    writer.close()
    expect(shares.length).toBeGreaterThan(1)
    expect(shares).toEqual(shares.toSorted((a, b) => a - b))
    expect(countIn(join(folder, 'copy.db'), 'filling')).toBe(20_000)
    expect(countIn(path, 'filling')).toBe(20_000 - shares.length)
  })

  test('can be read by its owner only, and no other file is left beside it', async () => {
    const { bytes } = await copyTo('copy.db')
    const copy = join(folder, 'copy.db')
    expect(statSync(copy)).toMatchObject({ size: bytes })
    expect(statSync(copy).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder).filter((name) => name.includes('copy'))).toEqual(['copy.db'])
  })

  test('can be opened in place of the database', async () => {
    await copyTo('copy.db')
    const store = openSqlite(
      { path: join(folder, 'copy.db'), exclusive: true },
      { ...machine, channels: githubDeclarations },
    )
    await store.ping()
    await store.close()
  })
})

test('a store that was moved is refused, and nothing is written', async () => {
  const db = new DatabaseSync(path)
  const mark = JSON.stringify({ move: 'm', to: 'postgres://db.test/holdfast', at: 0 })
  db.prepare("INSERT INTO store_state (key, value) VALUES ('moved_to', ?)").run(mark)
  db.close()
  await expect(copyTo('copy.db')).rejects.toMatchObject({
    code: 'store_moved',
    message: 'this store was moved to postgres://db.test/holdfast at 1970-01-01T00:00:00.000Z',
    hint: expect.stringContaining('Set HOLDFAST_DATABASE_URL to that database'),
  })
  expect(readdirSync(folder).filter((name) => name.includes('copy'))).toEqual([])
})

describe('a copy that is started as the database', () => {
  test('records once that it was restored, and the original database does not', async () => {
    const first = openSqlite(
      { path, exclusive: true },
      { ...machine, channels: githubDeclarations },
    )
    await first.upkeep.recordMode('live')
    const startedAt = await first.upkeep.firstStartedAt()
    await copyTo('copy.db')
    await first.upkeep.recordMode('live')
    expect(await first.outbox.knowsSince()).toBe(startedAt)
    expect(await first.outbox.restoreNote()).toBeNull()
    await first.close()
    const copy = openSqlite(
      { path: join(folder, 'copy.db'), exclusive: true },
      { ...machine, channels: githubDeclarations },
    )
    await copy.upkeep.recordMode('live')
    const restoredAt = await copy.outbox.knowsSince()
    expect(await copy.outbox.restoreNote()).toMatchObject({ restoredAt, open: 0, shown: 0 })
    expect(restoredAt).toBeGreaterThan(startedAt ?? Infinity)
    expect(await copy.upkeep.firstStartedAt()).toBe(startedAt)
    await copy.upkeep.recordMode('live')
    expect(await copy.outbox.knowsSince()).toBe(restoredAt)
    await copy.close()
  })
})

describe('an existing file', () => {
  test('is not replaced unless the caller asks for it', async () => {
    writeFileSync(join(folder, 'copy.db'), 'precious')
    await expect(copyTo('copy.db')).rejects.toMatchObject({
      code: 'backup_exists',
      hint: expect.stringContaining('--force') as string,
    })
    expect(readFileSync(join(folder, 'copy.db'), 'utf8')).toBe('precious')
    await copyTo('copy.db', { replace: true })
    expect(countIn(join(folder, 'copy.db'), 'migration')).toBeGreaterThan(0)
  })

  test.each(['holdfast.db', 'holdfast.db-wal', 'link.db'])(
    'that belongs to the database itself is refused: %s',
    async (name) => {
      symlinkSync(path, join(folder, 'link.db'))
      const open = new DatabaseSync(path)
      open.exec('CREATE TABLE x (id)')
      await expect(copyTo(name, { replace: true })).rejects.toMatchObject({ code: 'backup_target' })
      open.close()
      expect(countIn(path, 'migration')).toBeGreaterThan(0)
    },
  )
})

test.each([
  ['missing/copy.db', 'backup_folder'],
  ['.', 'backup_target'],
])('%s is refused as the place of a copy', async (name, code) => {
  await expect(copyTo(name, { replace: true })).rejects.toMatchObject({ code })
})

test('a file that is not a Holdfast database is not copied', async () => {
  writeFileSync(path, 'x'.repeat(200))
  await expect(copyTo('copy.db')).rejects.toMatchObject({ code: 'store_foreign' })
  expect(readdirSync(folder)).not.toContain('copy.db')
})
