/**
 * Copies a SQLite database while others write to it.
 *
 * What must hold: the copy shows the database at one moment, and it is complete and checked before
 * it gets its name. A crash leaves at most a draft beside it. One read transaction covers the whole
 * copy, so writers continue, and their writes neither enter the copy nor restart it. A store that
 * was moved is refused: a backup that runs every night must not save the old file and look fine.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { HoldfastError, SetupError } from '../../errors.ts'
import type { Random } from '../../random.ts'
import { refuseForeign } from './sqlite-file.ts'
import { refuseMoved } from './sqlite-schema.ts'

export interface BackupOptions {
  /** Absolute. */
  readonly target: string
  readonly replace: boolean
  readonly random: Random
  /** From 0 to 1. */
  readonly onProgress: (share: number) => void
}

export interface BackupAnswer {
  readonly bytes: number
}

/** Small enough to show progress and to react to a signal, large enough to be fast. */
const pagesAtOnce = 4096

export async function backupSqlite(path: string, options: BackupOptions): Promise<BackupAnswer> {
  const { target, replace, random } = options
  refuseForeign(path)
  refuseTarget(path, target, replace)
  const draft = join(
    dirname(target),
    `.${basename(target)}.draft-${random.bytes(6).toString('hex')}`,
  )
  try {
    // Only the owner can read the file, whatever the umask is.
    closeSync(openSync(draft, 'wx', 0o600))
    await copyMoment(path, draft, options)
    markAsBackup(draft)
    checkIntegrity(draft)
    sync(draft)
    // link() fails if another process has made the target meanwhile.
    if (replace) renameSync(draft, target)
    else linkSync(draft, target)
    rmSync(draft, { force: true })
    sync(dirname(target))
    return { bytes: statSync(target).size }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EEXIST') throw targetExists(target)
    if (error instanceof HoldfastError) throw error
    throw new SetupError('backup_failed', `${target} was not made: ${(error as Error).message}`, {
      hint: 'Is there room on that disk, and may this user write there?',
      cause: error,
    })
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(draft + suffix, { force: true })
  }
}

async function copyMoment(path: string, draft: string, options: BackupOptions): Promise<void> {
  const source = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    source.exec('BEGIN')
    // The transaction begins with its first statement.
    source.prepare('SELECT count(*) FROM sqlite_schema').get()
    refuseMoved(source)
    await backup(source, draft, {
      rate: pagesAtOnce,
      progress: ({ totalPages, remainingPages }) => {
        options.onProgress(totalPages === 0 ? 1 : 1 - remainingPages / totalPages)
      },
    })
    source.exec('COMMIT')
  } finally {
    source.close()
  }
}

/** A server that starts on the copy must know that GitHub may have changed since. */
function markAsBackup(draft: string): void {
  const copy = new DatabaseSync(draft)
  try {
    copy.exec(`INSERT INTO store_state (key, value) VALUES ('is_backup', '1')
      ON CONFLICT (key) DO NOTHING`)
  } finally {
    copy.close()
  }
}

function checkIntegrity(draft: string): void {
  const copy = new DatabaseSync(draft)
  try {
    const found = copy.prepare('PRAGMA integrity_check(1)').get() as { integrity_check?: string }
    if (found.integrity_check === 'ok') return
    throw new SetupError('backup_damaged', `the copy is damaged: ${found.integrity_check ?? ''}`, {
      hint: 'Check the database itself: holdfast doctor',
    })
  } finally {
    copy.close()
  }
}

function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function refuseTarget(path: string, target: string, replace: boolean): void {
  if (!existsSync(dirname(target))) {
    throw new SetupError('backup_folder', `There is no folder ${dirname(target)}`, {
      hint: 'Make it first, or name another file.',
    })
  }
  if (!existsSync(target)) return
  const source = realpathSync(path)
  const there = realpathSync(target)
  const ours = [source, `${source}-wal`, `${source}-shm`, `${source}.lock`]
  if (ours.includes(there)) {
    throw new SetupError('backup_target', `${target} belongs to the database itself`, {
      hint: 'Name another file.',
    })
  }
  if (!statSync(target).isFile()) {
    throw new SetupError('backup_target', `${target} is not a file`, { hint: 'Name a file.' })
  }
  if (!replace) throw targetExists(target)
}

function targetExists(target: string): SetupError {
  return new SetupError('backup_exists', `${target} already exists`, {
    hint: 'Name another file, or give --force to replace it.',
  })
}
