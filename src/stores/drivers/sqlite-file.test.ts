/**
 * What is refused at the path of a SQLite store and left unchanged, byte for byte: a foreign file,
 * a damaged one, a log without its database; and who may hold a file.
 */
import { githubDeclarations } from '../../channels/github-channels.ts'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../clock.ts'
import { SetupError } from '../../errors.ts'
import { systemRandom } from '../../random.ts'
import { systemScheduler } from '../../scheduler.ts'
import { loadMigrations } from '../migrations.ts'
import { openSqlite } from '../open-sqlite.ts'
import type { SqlStore } from '../sql-store/sql-store.ts'
import { openMemory } from './sqlite-file.ts'
import { migrateSqlite } from './sqlite-schema.ts'

const machine = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }

let folder: string
let path: string
let open: SqlStore[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-file-'))
  path = join(folder, 'holdfast.db')
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((store) => store.close()))
  rmSync(folder, { recursive: true })
})

function openStore(exclusive = false): SqlStore {
  const store = openSqlite({ path, exclusive }, { ...machine, channels: githubDeclarations })
  open.push(store)
  return store
}

/** A store with enough in it to have pages of every kind. */
async function makeStore(): Promise<void> {
  const store = openSqlite({ path, exclusive: false }, { ...machine, channels: githubDeclarations })
  const name = 'a token '.repeat(10)
  const token = { scope: 'admin', name, userId: null, secret: 's', actor: 'test' }
  await Promise.all(Array.from({ length: 300 }, () => store.tokens.create(token, null)))
  await store.close()
}

const hash = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** Every file with content in the folder, except SQLite's index of the log, which is not data. */
function hashes(): Record<string, string> {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
  const names = files.map(({ name }) => name).filter((name) => !name.endsWith('-shm'))
  const filled = names.filter((name) => statSync(join(folder, name)).size > 0)
  return Object.fromEntries(filled.map((name) => [name, hash(join(folder, name))]))
}

function expectRefused(code: string): void {
  const before = hashes()
  for (const exclusive of [false, true]) {
    let refused: unknown
    try {
      openStore(exclusive)
    } catch (error) {
      refused = error
    }
    expect(refused).toBeInstanceOf(SetupError)
    expect(refused).toMatchObject({ code })
    expect((refused as SetupError).message).toContain(path)
    expect((refused as SetupError).hint).toBeTruthy()
  }
  expect(hashes()).toEqual(before)
  expect(openFiles(), 'a connection was left open').toEqual([])
}

/** What this process has open in the folder, on systems that show it. */
function openFiles(): string[] {
  if (!existsSync('/proc/self/fd')) return []
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${fd}`)
      return file.startsWith(folder) ? [file] : []
    } catch {
      return []
    }
  })
}

describe('a foreign file', () => {
  it('of text is refused', () => {
    writeFileSync(path, 'dear diary, '.repeat(100))
    expectRefused('store_foreign')
  })

  it.each(['DELETE', 'WAL'])('that is another SQLite database in %s mode is refused', (mode) => {
    const db = new DatabaseSync(path)
    db.exec(
      `PRAGMA journal_mode = ${mode}; CREATE TABLE photo (id INTEGER); PRAGMA user_version = 7`,
    )
    db.close()
    expectRefused('store_foreign')
  })

  it('that is a database of another program with an application id is refused', () => {
    const db = new DatabaseSync(path)
    db.exec('PRAGMA application_id = 1234; CREATE TABLE run (id INTEGER)')
    db.close()
    expectRefused('store_foreign')
  })

  it('that is a folder is refused', () => {
    mkdirSync(path)
    expectRefused('store_foreign')
  })
})

describe('a damaged file', () => {
  beforeEach(makeStore)

  it('whose header is overwritten is refused', () => {
    writeAt(0, Buffer.alloc(100, 0x5a))
    expectRefused('store_foreign')
  })

  it.each([0, 1, 50, 99])('cut short to %i bytes is refused', (length) => {
    truncateSync(path, length)
    expectRefused('store_damaged')
  })

  it.each([0.1, 0.25, 0.5, 0.75, 0.9])('cut short to %d of its length is refused', (part) => {
    truncateSync(path, Math.floor(statSync(path).size * part))
    expectRefused('store_damaged')
  })

  it('that lost its last page is refused', () => {
    truncateSync(path, statSync(path).size - 4096)
    expectRefused('store_damaged')
  })

  it('with invalid bytes at the start of any page is refused', () => {
    const whole = join(folder, 'whole')
    copyFileSync(path, whole)
    const pages = statSync(path).size / 4096
    for (let page = 1; page < pages; page += Math.ceil(pages / 12)) {
      copyFileSync(whole, path)
      writeAt(page * 4096, systemRandom.bytes(512))
      expectRefused('store_damaged')
    }
  })

  it('with invalid bytes after the header is refused', () => {
    writeAt(100, systemRandom.bytes(400))
    expectRefused('store_damaged')
  })

  it('whose log still has changes is refused, and the log is not written into it', () => {
    crashWithLog()
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
    truncateSync(path, Math.floor(statSync(path).size / 2))
    writeAt(2 * 4096, systemRandom.bytes(2 * 4096))
    expectRefused('store_damaged')
  })
})

describe('a missing file', () => {
  it('with its log left over is refused', async () => {
    await makeStore()
    crashWithLog()
    rmSync(path)
    expectRefused('store_damaged')
  })

  it('with an empty log left over is created again', () => {
    writeFileSync(`${path}-wal`, '')
    openStore()
    expect(readFileSync(path).toString('latin1', 0, 15)).toBe('SQLite format 3')
  })

  it('is created in a folder that does not exist yet, and nothing else is left in it', () => {
    path = join(folder, 'new', 'folder', 'holdfast.db')
    openStore()
    const beside = readdirSync(join(folder, 'new', 'folder'))
    expect(beside.filter((name) => name.includes('.new-'))).toEqual([])
  })
})

describe('a database in memory', () => {
  it('has the schema of all migrations, also for the second one in a process', () => {
    const migrate = (db: DatabaseSync): void => migrateSqlite(db, loadMigrations('sqlite'), 0)
    const migrated = new DatabaseSync(':memory:')
    migrate(migrated)
    const [first, second] = [openMemory(migrate), openMemory(migrate)]
    const databases = [migrated, first.writer, second.writer]
    const schemas = databases.map((db) => db.prepare('SELECT name, sql FROM sqlite_schema').all())
    for (const db of databases) db.close()
    expect(schemas[1]).toEqual(schemas[0])
    expect(schemas[2]).toEqual(schemas[0])
  })
})

describe('a database file', () => {
  it('has one server or worker at a time, and any number of other processes', async () => {
    const server = openStore(true)
    expect(() => openStore(true)).toThrow(
      expect.objectContaining({
        code: 'store_in_use',
        hint: expect.stringContaining('PostgreSQL'),
      }),
    )
    const beside = openStore(false)
    expect(await beside.upkeep.recordMode('live')).toBe('live')
    expect(await server.upkeep.recordMode('sandbox')).toBe('live')
    await server.close()
    openStore(true)
  })

  it('that is opened twice in one process keeps the locks of the first', async () => {
    const first = openStore()
    await first.upkeep.recordMode('sandbox')
    openStore()
    // Without its lock, the last one to close would remove the log of the first.
    inAnotherProcess('db.prepare("SELECT 1 FROM run").all()')
    await first.repositories.learn('o/r', 7, 'now', 'test')
    const names = inAnotherProcess('console.log(db.prepare("SELECT name FROM repository").all())')
    expect(names).toContain('o/r')
  })

  it('is not kept locked by a refused open', () => {
    writeFileSync(path, 'dear diary, '.repeat(100))
    expect(() => openStore(true)).toThrow(/not a Holdfast database/)
    rmSync(path)
    openStore(true)
  })
})

function inAnotherProcess(program: string): string {
  const opened = `const db = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)})`
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['-e', `${opened}; ${program}; db.close()`],
    { encoding: 'utf8' },
  )
  expect(status, stderr).toBe(0)
  return stdout
}

/** Leaves the files as a crash does: changes in the log that were never written back. */
function crashWithLog(): void {
  const db = new DatabaseSync(path)
  db.exec(`PRAGMA wal_autocheckpoint = 0; DELETE FROM token`)
  const files = ['', '-wal'].map((suffix) => [path + suffix, readFileSync(path + suffix)] as const)
  db.close()
  for (const [file, bytes] of files) writeFileSync(file, bytes)
  expect(existsSync(`${path}-shm`)).toBe(false)
}

function writeAt(offset: number, bytes: Buffer): void {
  const file = readFileSync(path)
  bytes.copy(file, offset)
  writeFileSync(path, file)
}
