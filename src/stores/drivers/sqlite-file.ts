/**
 * Opens the SQLite file, or refuses it.
 *
 * What must hold: a file that Holdfast did not make, or that is damaged, is refused and not changed
 * by a single byte. A new database is made under another name and linked into place when it is
 * complete. So an empty or incomplete file at the path is never ours, and is never filled silently.
 */
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SetupError } from '../../errors.ts'
import type { Random } from '../../random.ts'
import { isDamage, resultCode } from './sqlite-errors.ts'

/** "HOLD": it is in the file's header and marks the file as ours. */
const applicationId = 0x484f4c44
/** In a larger file, the check of the whole file would delay the start too much. */
export const checkedBytesMax = 256 * 1024 * 1024

/** Garbage collection of a connection would release its lock, so the connections are kept here. */
const heldLocks = new Set<DatabaseSync>()

export interface SqliteFile {
  readonly writer: DatabaseSync
  readonly reader: DatabaseSync | null
  readonly release: () => void
}

/** The schema of the first database in memory. Copying it is much faster than migrating again. */
let memorySchema: string | null = null

/** `migrate` brings an empty database to the newest schema. It is called once in a process. */
export function openMemory(migrate: (db: DatabaseSync) => void): SqliteFile {
  const writer = connect(':memory:', false)
  if (memorySchema === null) {
    migrate(writer)
    memorySchema = statementsOf(writer)
  } else writer.exec(memorySchema)
  return { writer, reader: null, release: () => undefined }
}

/**
 * The statements that made the schema, in their order. The only rows that migrations put into a new
 * database are their own, and nobody reads those of a database in memory.
 */
function statementsOf(db: DatabaseSync): string {
  const rows = db
    .prepare(
      `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND substr(name, 1, 7) <> 'sqlite_'
        ORDER BY rowid`,
    )
    .all()
  return `BEGIN; ${rows.map((row) => String(row['sql'])).join(';\n')}; COMMIT`
}

/** `exclusive` is for a server or worker: only one at a time may use a file. */
export function openFile(
  path: string,
  exclusive: boolean,
  prepare: (db: DatabaseSync) => void,
  random: Random,
): SqliteFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const release = exclusive ? takeLock(path) : () => undefined
  try {
    if (!existsSync(path)) create(path, prepare, random)
    refuseForeign(path)
    removeDrafts(path)
    return { ...openExisting(path, prepare), release }
  } catch (error) {
    release()
    throw error
  }
}

function openExisting(
  path: string,
  prepare: (db: DatabaseSync) => void,
): Pick<SqliteFile, 'writer' | 'reader'> {
  refuseDamage(path)
  const writer = connect(path, false)
  try {
    prepare(writer)
    return { writer, reader: connect(path, true) }
  } catch (error) {
    writer.close()
    throw isDamage(error) ? damaged(path, error) : error
  }
}

function connect(path: string, readOnly: boolean): DatabaseSync {
  const db = new DatabaseSync(path, { readOnly, timeout: readOnly ? 1000 : 50 })
  // Savepoint journals in memory nearly halve the cost of a transaction in a group.
  db.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536')
  if (!readOnly && path !== ':memory:') {
    db.exec('PRAGMA synchronous = FULL')
    // Writing the log back costs one write per changed page, and many claims change the same pages.
    // So it is done only every 128 MB. Then a claim costs nearly the same with a million runs.
    db.exec('PRAGMA wal_autocheckpoint = 32000; PRAGMA journal_size_limit = 134217728')
  }
  return db
}

/** Makes the database under another name. link() then fails if another process was faster. */
function create(path: string, prepare: (db: DatabaseSync) => void, random: Random): void {
  if (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0) {
    throw new SetupError('store_damaged', `${path} is missing but its log ${path}-wal is there`, {
      hint: 'Put the database file back beside its log, or move the log away to start empty.',
    })
  }
  const draft = `${path}.new-${random.bytes(6).toString('hex')}`
  try {
    // Only the owner can read the file, whatever the umask is. SQLite gives its log the same mode.
    closeSync(openSync(draft, 'wx', 0o600))
    const db = connect(draft, false)
    db.exec(`PRAGMA application_id = ${applicationId}`)
    prepare(db)
    db.exec('PRAGMA journal_mode = WAL')
    db.close()
    linkSync(draft, path)
  } catch (error) {
    // Another process was faster. It may have removed our draft too.
    if (!existsSync(path)) throw error
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(draft + suffix, { force: true })
  }
}

/** Once the database exists, drafts are left from starts that were killed or too late. */
function removeDrafts(path: string): void {
  const folder = dirname(path)
  for (const file of readdirSync(folder)) {
    if (file.startsWith(`${basename(path)}.new-`)) rmSync(join(folder, file), { force: true })
  }
}

export function refuseForeign(path: string): void {
  if (!statSync(path).isFile()) {
    throw new SetupError('store_foreign', `${path} is not a file`, {
      hint: 'Point HOLDFAST_DATABASE_URL at a file.',
    })
  }
  const header = Buffer.alloc(100)
  const file = openSync(path, 'r')
  let length: number
  try {
    length = readSync(file, header, 0, 100, 0)
  } finally {
    closeSync(file)
  }
  if (length < 100) throw damaged(path)
  if (header.toString('latin1', 0, 15) !== 'SQLite format 3' || header.readUInt32BE(68) === 0) {
    throw foreign(path)
  }
  if (header.readUInt32BE(68) !== applicationId) throw foreign(path)
}

/**
 * Uses a read-only connection, because closing a writable one would write the log into the file.
 */
export function refuseDamage(path: string): void {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 1000 })
  try {
    // This reads the schema and compares the page count in the header with the file's size.
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    if (statSync(path).size > checkedBytesMax) return
    const found = db.prepare('PRAGMA quick_check(1)').get() as { quick_check?: string } | undefined
    if (found?.quick_check !== 'ok') throw damaged(path, found?.quick_check)
  } catch (error) {
    throw isDamage(error) ? damaged(path, error) : error
  } finally {
    db.close()
  }
}

/**
 * A lock that the operating system releases however the process ends: SQLite's own lock on a small
 * file beside the database. Node has no flock, and a pid file is wrong after a crash.
 */
function takeLock(path: string): () => void {
  // Two processes that ask at the same time block each other. After a short wait one gets the lock.
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 250 })
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (resultCode(error) !== 5) throw error
    throw new SetupError('store_in_use', `another Holdfast server uses ${path}`, {
      hint: 'Stop it first, or use PostgreSQL, which any number of them can share.',
      cause: error,
    })
  }
  heldLocks.add(lock)
  return () => {
    heldLocks.delete(lock)
    lock.close()
  }
}

function damaged(path: string, cause?: unknown): SetupError {
  return new SetupError('store_damaged', `${path} is damaged or cut short; it was left untouched`, {
    hint: 'Restore it from a backup, or move it away to start with an empty store.',
    cause,
  })
}

function foreign(path: string): SetupError {
  return new SetupError(
    'store_foreign',
    `${path} is not a Holdfast database; it was left untouched`,
    {
      hint: 'Point HOLDFAST_DATABASE_URL at another path.',
    },
  )
}
