/**
 * Whether a SQLite file is safe where it lies. In the data folder, which is its owner's alone, only
 * a link is dangerous. Elsewhere others must not be able to open the file, nor to put something of
 * theirs into its folder: SQLite reads and writes the files beside it by name.
 */
import { lstat, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Settings } from './settings.ts'

export interface UnsafeFile {
  readonly told: string
  readonly remedy: string
}

const besideIt = ['', '-wal', '-shm', '-journal', '.lock'] as const

/** Null when there is nothing to object to; what is not there yet is made with the right mode. */
export async function unsafeDatabaseFile(settings: Settings): Promise<UnsafeFile | null> {
  const { database, dataDir } = settings
  if (database.kind !== 'sqlite' || database.path === ':memory:') return null
  const folder = dirname(database.path)
  // Windows has no such modes and reports everything as open to everybody.
  const checksModes = folder !== dataDir && process.platform !== 'win32'
  for (const suffix of besideIt) {
    const unsafe = await unsafeFile(database.path + suffix, checksModes)
    if (unsafe !== null) return unsafe
  }
  return checksModes ? await openFolder(folder) : null
}

async function unsafeFile(path: string, checksModes: boolean): Promise<UnsafeFile | null> {
  const found = await orNull(lstat(path))
  if (found?.isSymbolicLink() === true) {
    return {
      told: `${path} is a symbolic link. For safety it is not followed`,
      remedy: 'Put the file itself there, or set the path that the link leads to.',
    }
  }
  if (found === null || !checksModes || (found.mode & 0o077) === 0) return null
  return {
    told: `${path} has mode ${modeText(found.mode)}, so other users of this machine can open it`,
    remedy: `Run: chmod 600 ${path}`,
  }
}

/** Looking into it tells others nothing but names; the file itself is closed. */
async function openFolder(folder: string): Promise<UnsafeFile | null> {
  const found = await orNull(stat(folder))
  if (found === null || (found.mode & 0o022) === 0) return null
  return {
    told:
      `The folder of the database, ${folder}, has mode ${modeText(found.mode)}, so other users ` +
      'of this machine can put files there that the database would use',
    remedy: `Run: chmod go-w ${folder}. Or put the database in a folder of its own.`,
  }
}

const modeText = (mode: number): string => `0${(mode & 0o777).toString(8).padStart(3, '0')}`

async function orNull<T>(look: Promise<T>): Promise<T | null> {
  try {
    return await look
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
